"""Captures the printed output of a task: everything written to descriptors 1 and 2 during its call.

Both are files, so they get the output of Python, C libraries and child processes. A task that
prints nothing costs two fstat calls. The files are truncated when they are read, so that they
contain only the output of the running task. If the process dies, the governor reads it.
"""

import os
import sys
from typing import Any

from rain.common.printed import Streams, empty, keep, last_words, text_of

STDOUT, STDERR = 1, 2


def take_printed() -> Streams | None:
    """Takes the output since the last call; None if there is none."""
    if "ctypes" in sys.modules:
        _flush_what_c_holds_back()
    if "logging" in sys.modules and sys.modules["logging"].root.handlers:
        _set_up_again()
    out_end = os.lseek(STDOUT, 0, os.SEEK_END)
    err_end = os.lseek(STDERR, 0, os.SEEK_END)
    if not (out_end or err_end):
        return None
    said = keep(STDOUT, out_end), keep(STDERR, err_end)
    empty(STDOUT, out_end)
    empty(STDERR, err_end)
    if err_end:
        _warn_again()
    return said


def with_printed(result: Any, words: list[Any] | None, said: Streams) -> tuple[Any, list[Any]]:
    """An answer with what was printed; an error shows the end of it."""
    if isinstance(result, str):
        result = result.rstrip("\n") + last_words(*map(text_of, said))
    debug, user, *more = words or ("", "")
    return result, [debug, user, said, *more[1:]]


def _flush_what_c_holds_back() -> None:
    """Flushes the buffer of C's stdio. C libraries that print are used with ctypes or numpy."""
    import ctypes  # noqa: PLC0415 # already imported

    ctypes.pythonapi.fflush(None)


def _set_up_again() -> None:
    """Lets each task set up its own logging, after another one has logged without doing so."""
    from rain.common.log_settings import forget_default  # noqa: PLC0415 # most tasks do not log

    forget_default()


def _warn_again() -> None:
    """Lets each task show its own warnings; Python shows a warning only once per process.

    Any change of the filters clears the record of shown warnings. The filter added here has no
    other effect: it equals the default for unmatched warnings.
    """
    import warnings  # noqa: PLC0415 # usually imported already

    warnings.simplefilter("default", append=True)
