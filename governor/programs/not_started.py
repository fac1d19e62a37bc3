"""Says why a program cannot be started, with what the kernel's error leaves out."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

_LONGEST = 256  # bytes of a first line that the kernel reads


def why_not_started(name: str, folder: Path, search: str | None, error: OSError) -> str:
    """Why the program of this name was not started in a folder; `search` is its PATH."""
    reason = error.strerror or str(error)
    file = _found(name, folder, search)
    if file is None:
        return reason
    if error.errno == errno.ENOENT:
        interpreter = _interpreter(file)
        if interpreter:
            return f"its first line names the interpreter {interpreter!r}, which is not there"
        return (
            "the file is there, but not the loader that it needs: it was built for another system"
        )
    if error.errno == errno.EACCES and not os.access(file, os.X_OK):
        return f"{reason}: it is not executable (chmod +x)"
    if error.errno == errno.ENOEXEC:
        return f"{reason}: a script needs a first line such as '#!/bin/sh'"
    return reason


def _found(name: str, folder: Path, search: str | None) -> Path | None:
    """The file of a program, if it is there at all."""
    file = str(folder / name) if "/" in name else shutil.which(name, os.F_OK, search)
    return Path(file) if file is not None and Path(file).is_file() else None


def _interpreter(file: Path) -> str:
    """The interpreter that the first line of a script names; "" for other files."""
    try:
        with file.open("rb") as opened:
            line = opened.read(_LONGEST).partition(b"\n")[0]
    except OSError:  # a program may be run without being read
        return ""
    words = line.removeprefix(b"#!").strip(b" \t").split(b" ", 1) if line[:2] == b"#!" else [b""]
    return words[0].decode("utf-8", "replace")
