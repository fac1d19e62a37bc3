"""What a task prints: whatever comes to descriptors 1 and 2 while its call runs.

Both are files, so what Python, libraries in C and child processes print is there alike. A task that
prints nothing costs two questions for the length of a file. What was taken is cut off, so that a
file has only what the running task has printed. If that ends its process, the governor reads it.
"""

import os
import sys
from typing import Any

from rain.common.printed import as_logs, excerpt, last_words

STDOUT, STDERR = 1, 2

Said = tuple[str, str]
"""What came to stdout, and to stderr."""


def take_printed() -> Said | None:
    """What was printed since the last time; None for nothing."""
    if "ctypes" in sys.modules:
        _flush_what_c_holds_back()
    out_end = os.lseek(STDOUT, 0, os.SEEK_END)
    err_end = os.lseek(STDERR, 0, os.SEEK_END)
    if not (out_end or err_end):
        return None
    said = excerpt(STDOUT, out_end), excerpt(STDERR, err_end)
    os.ftruncate(STDOUT, 0)
    os.ftruncate(STDERR, 0)
    if err_end:
        _warn_again()
    return said


def with_printed(result: Any, words: list[Any] | None, said: Said) -> tuple[Any, list[Any]]:
    """An answer with what was printed; an error shows the end of it."""
    if isinstance(result, str):
        result = result.rstrip("\n") + last_words(*said)
    debug, user, *more = words or ("", "")
    return result, [debug, user, as_logs(*said), *more[1:]]


def _flush_what_c_holds_back() -> None:
    """What is printed in C waits in a buffer. Libraries that do so come with ctypes, by numpy."""
    import ctypes  # noqa: PLC0415 # it is here already

    ctypes.pythonapi.fflush(None)


def _warn_again() -> None:
    """Python shows a warning once in a process; each task shall show its own.

    Any change of the filters makes it forget what it has shown. This one changes nothing: what no
    other filter matches is shown by default.
    """
    import warnings  # noqa: PLC0415 # it is used already, or something else was printed

    warnings.simplefilter("default", append=True)
