"""The exception of a task as a pickle, so that the client can raise the same one."""

import pickle
from typing import Any

from rain.common.content_type import encode_value
from rain.common.errors import rebuilt

LARGEST = 64 * 1024
"""A larger exception is told as text only."""


FUTURES_INSIDE = (
    "Futures inside of a list or another object stay futures: read them with result(), or pass them"
    " as arguments of their own"
)


def with_hint(error: BaseException) -> None:
    """Notes what to do on an error that newcomers often meet."""
    if isinstance(error, TypeError | AttributeError) and "'Future'" in str(error):
        error.add_note(FUTURES_INSIDE)


class _InParts:
    """An exception whose own pickle cannot be read back: its class, arguments and attributes."""

    def __init__(self, error: Exception) -> None:
        self._parts = (type(error), error.args, vars(error))

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuilt, self._parts


def pickled_error(error: BaseException) -> bytes:
    """The pickle of an exception without its traceback; empty when it cannot be sent.

    The pickle is read back here: the `__init__` of a class may take other arguments than the
    exception remembers.
    """
    if not isinstance(error, Exception):
        return b""  # SystemExit or KeyboardInterrupt of a task must not end the client
    return _pickled(error) or _pickled(_InParts(error))


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


def _pickled(sent: object) -> bytes:
    try:
        data = encode_value(sent, "cloudpickle")
        again = pickle.loads(data)
    # What the user's class does when it is pickled may raise anything; the text is told anyway.
    except Exception:  # noqa: BLE001
        return b""
    return data if isinstance(again, Exception) and len(data) <= LARGEST else b""
