"""Converts the exception of a task for the client: its text, and the exception as a pickle.

With the pickle the client can raise the same exception.
"""

import copyreg
import errno
import os
import pickle
import re
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from rain.common.content_type import encode_value
from rain.common.errors import RainException, rebuilt
from rain.common.pickles import PICKLE_PROTOCOL

if TYPE_CHECKING:
    from types import TracebackType

LARGEST = 64 * 1024
"""Parts of larger exceptions are left out."""

LARGEST_PART = 8 * 1024
"""Parts of an exception that are left out when it is too large."""

LEFT_OF_TEXT = 2000
"""The characters or bytes that are left of a text which is too large."""


DEEPEST = 2000
"""Calls of a traceback that are described. Python takes 40 seconds for a million."""

FILES_NAMED = 3
"""If a task has left more files, only their number is reported."""

BY_NAME = (
    "Of its script, a task has what its function names: name in the function what it pickles, or"
    " reads from a pickle; or put that into a module beside the script"
)

_NOT_FOUND = re.compile("attribute lookup .* on __main__ failed|Can't get attribute .*'__main__'")

FUTURES_INSIDE = (
    "Futures inside of a list or another object stay futures: read them with result(), or pass them"
    " as arguments of their own"
)


TOO_MANY_OPEN = (
    "A process of a task may have {:,} files, sockets and pipes open at once here. Close those that"
    " are not needed any more, or start the governor with a larger --task-descriptors"
)


NO_TERMINAL = (
    "A task has no terminal: pass what it would ask for as an argument, and use a debugger with"
    " Client(local=True), which runs calls in your process"
)


def with_hint(error: BaseException) -> None:
    """Notes what to do on an error that newcomers often meet."""
    text = str(error)
    if type(error).__name__ == "BdbQuit" or (isinstance(error, EOFError) and "reading a" in text):
        if sys.stdin is None or not sys.stdin.isatty():
            error.add_note(NO_TERMINAL)
        return
    if isinstance(error, TypeError | AttributeError) and (
        "Future'" in text or "Future found" in text
    ):
        error.add_note(FUTURES_INSIDE)
    elif isinstance(error, pickle.PicklingError | AttributeError) and _NOT_FOUND.search(text):
        error.add_note(BY_NAME)
    elif isinstance(error, OSError) and error.errno == errno.EMFILE:
        error.add_note(TOO_MANY_OPEN.format(os.sysconf("SC_OPEN_MAX")))


def close_what_it_held(error: BaseException) -> None:
    """Frees a descriptor, without which the modules that pickle an error cannot be imported.

    The traceback has the local variables of the functions that have ended, and thus the files that
    they have left open.
    """
    if not isinstance(error, OSError) or error.errno not in (errno.EMFILE, errno.ENFILE):
        return
    trace = error.__traceback__
    while trace is not None:
        with suppress(RuntimeError):  # it is one of our own functions, and still runs
            trace.tb_frame.clear()
        trace = trace.tb_next


def tell_of_files(names: list[str]) -> None:
    """Notes in the output of a plain function that files it has left behind are deleted."""
    named = ", ".join(map(repr, names[:FILES_NAMED]))
    more = f" and {len(names) - FILES_NAMED} more" if len(names) > FILES_NAMED else ""
    sys.stderr.write(
        f"rain: the task has left {named}{more} in a folder that is emptied after each task: this"
        " machine does not have the folder of the program. Give absolute paths to files that are to"
        " stay\n"
    )


class _InParts:
    """An exception whose own pickle cannot be read back: its class, arguments and attributes.

    A group has it in common with one of its members. When it is cut, parts that are large or cannot
    be pickled are left out.
    """

    def __init__(self, error: Exception, cut: bool) -> None:
        arguments, attributes = _arguments(error, cut), vars(error)
        if cut:
            cuts = {name: _cut(value, _LEFT_OUT) for name, value in attributes.items()}
            attributes = {name: value for name, value in cuts.items() if value is not _LEFT_OUT}
        self._parts: tuple[Any, ...] = (type(error), arguments, attributes)

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuilt, self._parts


_LEFT_OUT = object()


def _arguments(error: Exception, cut: bool) -> tuple[object, ...]:
    if isinstance(error, ExceptionGroup):
        group: ExceptionGroup[Exception] = error
        members = [one if _pickled(one)[0] else _InParts(one, cut) for one in group.exceptions]
        return group.message, members
    if not cut:
        return error.args
    return tuple(_cut(value, f"<{type(value).__name__}>") for value in error.args)


def _cut(value: object, otherwise: object) -> object:
    """The value, the beginning of a long text, or something else for what cannot be sent."""
    if isinstance(value, str | bytes) and len(value) > LARGEST_PART:
        return value[:LEFT_OF_TEXT]
    try:
        data = encode_value(value, "cloudpickle")
        pickle.loads(data)
    # What the user's class does when it is pickled may raise anything.
    except Exception:  # noqa: BLE001
        return otherwise
    return value if len(data) <= LARGEST_PART else otherwise


class _AsItsClassSays:
    """An exception in the form of its own class.

    tblib, which comes with Dask's scheduler, registers another form for all exceptions: with
    tracebacks, and for readers that have tblib, too.
    """

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __reduce__(self) -> str | tuple[Any, ...]:
        return self._error.__reduce_ex__(PICKLE_PROTOCOL)


_OURS = ("rain.executor.", "rain.common.", "rain.local.")
"""Modules with the functions that call those of users."""

_HEAD = "Traceback (most recent call last):\n"

_INTERRUPTING = frozenset({"rain.executor.interrupts", "rain.local.interrupts"})


def text_of(error: BaseException) -> str:
    """The traceback of an exception, without the functions of ours that it begins or ends with.

    An error of Rain about the result needs no traceback.
    """
    from traceback import TracebackException  # noqa: PLC0415 # most executors never need it

    trace = error.__traceback__
    while trace is not None and _module(trace).startswith(_OURS):
        trace = trace.tb_next
    if isinstance(error, RainException) and trace is None:
        return str(error)
    left_out = 0
    if trace is not None:
        trace, left_out = _inner(trace)
    told = TracebackException(type(error), error, trace)
    if trace is None:  # it was raised by what is not written in Python, as `int("one")`
        told.stack = None  # type: ignore[assignment] # pyright: ignore[reportAttributeAccessIssue] # as it is without a traceback
    else:
        del told.stack[_length(trace) :]
    lines = list(told.format())
    if left_out:
        last = len(lines) - lines[::-1].index(_HEAD)  # those of its causes come before it
        lines.insert(last, f"  [outer calls that are left out: {left_out:,}]\n")
    return "".join(lines)


def _inner(trace: "TracebackType") -> "tuple[TracebackType, int]":
    """The innermost calls of a traceback, and how many others there are."""
    begin, inner, left_out = trace, trace, -DEEPEST + 1
    while inner.tb_next is not None:
        inner = inner.tb_next
        left_out += 1
        if left_out > 0 and begin.tb_next is not None:
            begin = begin.tb_next
    return begin, max(left_out, 0)


def _length(trace: "TracebackType") -> int:
    """How many functions there are up to that which has interrupted the task."""
    length = count = 0
    inner: TracebackType | None = trace
    while inner is not None:
        count += 1
        if _module(inner) not in _INTERRUPTING:
            length = count
        inner = inner.tb_next
    return length


def _module(trace: "TracebackType") -> str:
    return str(trace.tb_frame.f_globals.get("__name__"))


def pickled_error(error: BaseException) -> tuple[bytes, str]:
    """The pickle of an exception without its traceback, and what is wrong with it; empty for none.

    The pickle is read back here: the `__init__` of a class may take other arguments than the
    exception remembers.
    """
    if not isinstance(error, Exception):
        return b"", ""  # SystemExit or KeyboardInterrupt of a task must not end the client
    data, _ = _pickled(_AsItsClassSays(error) if _is_taken_by_tblib(error) else error)
    if data:
        return data, ""
    data, why = _pickled(_InParts(error, cut=False))
    if data:
        return data, ""
    data, still = _pickled(_InParts(error, cut=True))
    if data:
        return data, f"Parts of it are left out, as it cannot be sent: {why}\n"
    return data, f"It is raised as a TaskException, as it cannot be sent: {still}\n"


def _is_taken_by_tblib(error: Exception) -> bool:
    form = copyreg.dispatch_table.get(type(error))
    return getattr(form, "__module__", "").startswith("tblib")


def why_final(error: BaseException, retry_on: bytes) -> str:
    """Why a failure is not worth another try; empty when it is."""
    try:
        classes = pickle.loads(retry_on)
    # A module of theirs may be missing here, or may raise anything when it is imported.
    except Exception as trouble:  # noqa: BLE001
        return f"It is not tried again: retry_on cannot be read here: {trouble!r}"
    if isinstance(error, classes):
        return ""
    names = ", ".join(one.__name__ for one in classes)
    return f"It is not tried again: {type(error).__name__} is not in retry_on ({names})."


def _pickled(sent: object) -> tuple[bytes, str]:
    """The pickle if it can be read back, and otherwise why there is none."""
    try:
        data = encode_value(sent, "cloudpickle")
        again = pickle.loads(data)
    # What the user's class does when it is pickled may raise anything; the text is told anyway.
    except Exception as trouble:  # noqa: BLE001
        return b"", f"{type(trouble).__name__}: {trouble}"
    if not isinstance(again, Exception):
        return b"", f"its pickle is read back as {type(again).__name__}"
    if len(data) > LARGEST:
        return b"", f"its pickle has {len(data):,} bytes, and the limit is {LARGEST:,}"
    return data, ""
