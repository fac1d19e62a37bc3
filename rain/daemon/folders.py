"""Folders that a program needs before it can start."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from rain.base.errors import StartError
from rain.daemon.private import ONLY_OWNER, private_folder, temporary_folder


def default_log_folder(program: str) -> Path:
    """A separate log folder for this process, below the user's temporary folder."""
    name = f"{program}-{socket.gethostname()}-{os.getpid()}"
    return private_folder(temporary_folder() / "logs") / name


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
