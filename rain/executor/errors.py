"""The exception of a task as a pickle, so that the client can raise the same one."""

import pickle

from rain.common.content_type import encode_value

LARGEST = 64 * 1024
"""A larger exception is told as text only."""


def pickled_error(error: BaseException) -> bytes:
    """The pickle of an exception without its traceback; empty when it cannot be sent.

    The pickle is read back here: an exception whose class cannot rebuild it from its `args` would
    fail in the client, where nobody could say why.
    """
    if not isinstance(error, Exception):
        return b""  # SystemExit or KeyboardInterrupt of a task must not end the client
    try:
        data = encode_value(error, "cloudpickle")
        again = pickle.loads(data)
    # What the user's class does when it is pickled may raise anything; the text is told anyway.
    except Exception:  # noqa: BLE001
        return b""
    return data if isinstance(again, Exception) and len(data) <= LARGEST else b""
