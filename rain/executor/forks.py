"""Ends the processes that a task has forked, when they leave its function.

Such a child would answer in the name of the task, and would take calls away from its parent.
"""

from __future__ import annotations

import os
import sys
import traceback
from typing import NoReturn


def end_fork(error: BaseException | None) -> NoReturn:
    """Ends this process with the status of a Python program, and touches no files of its parent."""
    status = 0 if error is None else _status(error)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _status(error: BaseException) -> int:
    if not isinstance(error, SystemExit):
        traceback.print_exception(error)
        return 1
    if error.code is None or isinstance(error.code, int):
        return (error.code or 0) & 0xFF
    print(error.code, file=sys.stderr)  # noqa: T201 # as Python itself does
    return 1
