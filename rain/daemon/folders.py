"""Folders that a program needs before it can start."""

from __future__ import annotations

import os
import socket
import tempfile
from pathlib import Path

from rain.base.errors import StartError


def default_log_folder(program: str) -> Path:
    """A folder of its own for this process, below the temporary folder."""
    name = f"{program}-{socket.gethostname()}-{os.getpid()}"
    return Path(tempfile.gettempdir()) / "rain-logs" / name


def make_folder(path: Path, what: str) -> Path:
    """The folder, made if need be, and certainly writable."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        probe = path / f".writable-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise StartError(
            f"the {what} {path} cannot be written: {error.strerror}; choose another one"
        ) from error
    return path.resolve()
