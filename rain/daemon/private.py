"""Folders that belong to one user of the machine, and that nobody else can look into.

The temporary folder is everybody's: a name in it belongs to the user who came first. So whatever
Rain keeps there by default is in a folder that carries the number of its user, and that folder is
believed only after a look at its owner, its mode and the folders above it.
"""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path
from typing import Protocol

from rain.base.errors import StartError

ONLY_OWNER = 0o700


class Found(Protocol):
    """What is looked at of an `os.stat_result`."""

    @property
    def st_mode(self) -> int: ...

    @property
    def st_uid(self) -> int: ...


def objection(found: Found, user: int) -> str:
    """Why a folder cannot be the private one of a user; "" if it can. Pure."""
    if stat.S_ISLNK(found.st_mode):
        return "is a symbolic link"
    if not stat.S_ISDIR(found.st_mode):
        return "is not a folder"
    if found.st_uid != user:
        return f"belongs to another user (number {found.st_uid})"
    return ""


def objection_above(found: Found, trusted: frozenset[int]) -> str:
    """Why a folder above a private one makes that one worthless; "" if it does not. Pure.

    A user who may rename what is in it could put a folder of their own in the place of ours. The
    sticky bit prevents that, but for the owner.
    """
    if found.st_uid not in trusted:
        return f"belongs to another user (number {found.st_uid})"
    if found.st_mode & 0o022 and not found.st_mode & stat.S_ISVTX:
        return "can be written by others, and has no sticky bit"
    return ""


def objection_to_file(found: Found, user: int) -> str:
    """Why a file is not the private one of a user; "" if it is. Pure."""
    if not stat.S_ISREG(found.st_mode):
        return "is not a file"
    if found.st_uid != user:
        return f"belongs to another user (number {found.st_uid})"
    if found.st_mode & 0o077:
        return "is open to others"
    return ""


def private_folder(path: Path) -> Path:
    """The folder, made if need be, of this user alone; StartError if it is somebody else's."""
    try:
        path.mkdir(mode=ONLY_OWNER, exist_ok=True)
        found = path.lstat()
        reason = objection(found, os.geteuid())
        if not reason and found.st_mode & 0o077:
            path.chmod(ONLY_OWNER)
    except FileExistsError:
        reason = "is not a folder"
    except OSError as error:
        reason = f"cannot be made: {error.strerror}"
    if reason:
        raise StartError(f"{path} is to be a folder of yours alone, but it {reason}")
    return path


def temporary_folder() -> Path:
    """The private folder of this user below the temporary folder."""
    base = Path(tempfile.gettempdir()).resolve()
    # In some containers the owner of everything that the system brings has another number.
    trusted = frozenset({0, os.geteuid(), Path("/").stat().st_uid})
    advice = "let TMPDIR name a folder of yours"
    for above in (base, *base.parents):
        reason = objection_above(above.stat(), trusted)
        if reason:
            raise StartError(f"{above} is no place for a folder of yours: it {reason}; {advice}")
    try:
        return private_folder(base / f"rain-{os.geteuid()}")
    except StartError as error:
        raise StartError(f"{error}; remove it, or {advice}") from None
