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


def default_work_folder(program: str) -> Path:
    """A new work folder for this process with a unique name, because pids are reused."""
    name = f"{program}-{socket.gethostname()}-{os.getpid()}-{os.urandom(4).hex()}"
    return private_folder(temporary_folder() / "work") / name


def make_work_folder(path: Path) -> Path:
    """Creates a folder that only this user can access; everything in it is removed at the end."""
    try:
        # A link counts as existing even if it is broken.
        if os.path.lexists(path):
            raise StartError(
                f"the work folder {path} exists already; choose a new one, because it is"
                " removed at the end"
            )
        path.mkdir(mode=ONLY_OWNER, parents=True)
    except OSError as error:
        raise StartError(
            f"the work folder {path} cannot be made: {error.strerror}; choose another one"
        ) from None
    return path.resolve()


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
