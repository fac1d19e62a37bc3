"""Finds the active session: the one that new tasks and data objects belong to if none is named.

`with session:` puts a session on a stack that each thread and each asyncio task has for itself; a
default session serves the whole process when the stack is empty.
"""

from contextvars import ContextVar
from typing import TYPE_CHECKING

from rain.common.errors import RainException

if TYPE_CHECKING:
    from rain.client.session import Session

_stack: "ContextVar[tuple[Session, ...]]" = ContextVar("rain_active_sessions", default=())
_default: "list[Session]" = []  # one or none


def get_active_session() -> "Session":
    """The innermost session of the stack, else the default session."""
    stack = _stack.get()
    if stack:
        return stack[-1]
    if _default:
        return _default[0]
    raise RainException(
        "There is no active session: use `with client.new_session():`, or make one the default"
    )


def push(session: "Session") -> None:
    """Makes a session the active one."""
    _stack.set((*_stack.get(), session))


def pop(session: "Session") -> None:
    """Takes the innermost entry of a session off the stack."""
    stack = list(_stack.get())
    for i in reversed(range(len(stack))):
        if stack[i] is session:
            del stack[i]
            break
    _stack.set(tuple(stack))


def set_default(session: "Session") -> None:
    """Makes a session the default one, which is used when the stack is empty."""
    _default[:] = [session]


def drop_default(session: "Session | None" = None) -> None:
    """If this session is the default one, there is no default any more; None means any session."""
    if _default and session in (None, _default[0]):
        _default.clear()
