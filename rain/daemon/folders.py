"""Folders that a program needs before it can start."""

from __future__ import annotations

import glob
import os
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from rain.base.errors import StartError
from rain.daemon.private import ONLY_OWNER, private_folder, temporary_folder
from rain.stream.removing import remove

LOGS_STAY_DAYS = 10
"""Logs in a default place go when nothing was written there for so long, and their program has
ended. The temporary folders of most systems are tidied up like this, too."""


def has_ended(folder: Path) -> bool:
    """Whether the process whose number is the end of the name of its log folder has ended."""
    return not Path(f"/proc/{folder.name.rpartition('-')[2]}").exists()


def default_log_folder(program: str, is_over: Callable[[Path], bool] = has_ended) -> Path:
    """A separate log folder for this process, below the user's temporary folder.

    Old ones of the same program go if what has written there is over.
    """
    logs = private_folder(temporary_folder() / "logs")
    _remove_old(logs, program, is_over)
    return logs / f"{program}{_host()}{os.getpid()}"


def _host() -> str:
    return f"-{socket.gethostname()}-"


def _remove_old(logs: Path, program: str, is_over: Callable[[Path], bool]) -> None:
    oldest = time.time() - LOGS_STAY_DAYS * 24 * 3600
    for folder in logs.glob(f"{program}{glob.escape(_host())}*"):
        with suppress(OSError):  # another program removes it at the same time
            written = max(path.stat().st_mtime for path in (folder, *folder.rglob("*")))
            if written < oldest and is_over(folder):
                remove(folder)


def sync_folder(path: Path) -> None:
    """Makes the names of the files in it durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(path: Path, what: str) -> Path:
    """Makes sure that the folder is writable; only this user can access a new one."""
    try:
        path.mkdir(mode=ONLY_OWNER, parents=True, exist_ok=True)
        probe = path / f".writable-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise StartError(
            f"the {what} {path} cannot be written: {error.strerror}; choose another one"
        ) from error
    return path.resolve()
