"""Folders that a program needs before it can start."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from rain.base.errors import StartError
from rain.daemon.private import ONLY_OWNER, private_folder, temporary_folder


def default_log_folder(program: str) -> Path:
    """A folder of its own for this process, below the user's temporary one."""
    name = f"{program}-{socket.gethostname()}-{os.getpid()}"
    return private_folder(temporary_folder() / "logs") / name


def default_work_folder(program: str) -> Path:
    """The same for what is removed at the end, and new: numbers of processes come again."""
    name = f"{program}-{socket.gethostname()}-{os.getpid()}-{os.urandom(4).hex()}"
    return private_folder(temporary_folder() / "work") / name


def make_work_folder(path: Path) -> Path:
    """A new folder of this user alone; everything in it is removed at the end."""
    try:
        # Links count as there, too, wherever they lead.
        if os.path.lexists(path):
            raise StartError(
                f"the work folder {path} exists already; choose a new one, since it is"
                " removed at the end"
            )
        path.mkdir(mode=ONLY_OWNER, parents=True)
    except OSError as error:
        raise StartError(
            f"the work folder {path} cannot be made: {error.strerror}; choose another one"
        ) from None
    return path.resolve()


def make_folder(path: Path, what: str) -> Path:
    """The folder, certainly writable; a new one is this user's alone."""
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
