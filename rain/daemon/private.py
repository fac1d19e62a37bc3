"""Folders that only one user of the machine can access.

All users share the temporary folder: a name in it belongs to the user who creates it first. So
Rain keeps its default folders there in a folder named after the user's number, and trusts that
folder only after it has checked its owner, its mode and the folders above it.
"""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path
from typing import Protocol

from rain.base.errors import StartError

ONLY_OWNER = 0o700


class CheckedStatus(Protocol):
    """The checked fields of an `os.stat_result`."""

    @property
    def st_mode(self) -> int: ...

    @property
    def st_uid(self) -> int: ...


def objection(found: CheckedStatus, user: int) -> str:
    """Why a folder cannot be the private folder of a user; "" if it can. No I/O."""
    if stat.S_ISLNK(found.st_mode):
        return "is a symbolic link"
    if not stat.S_ISDIR(found.st_mode):
        return "is not a folder"
    if found.st_uid != user:
        return f"belongs to another user (number {found.st_uid})"
    return ""


def objection_above(found: CheckedStatus, trusted: frozenset[int]) -> str:
    """Why a folder above makes a private folder unsafe; "" if it does not. No I/O.

    Another user who may rename its entries could replace our folder with another one. The sticky
    bit prevents that for all users but the owner.
    """
    if found.st_uid not in trusted:
        return f"belongs to another user (number {found.st_uid})"
    if found.st_mode & 0o022 and not found.st_mode & stat.S_ISVTX:
        return "can be written by others, and has no sticky bit"
    return ""


def objection_to_file(found: CheckedStatus, user: int) -> str:
    """Why a file is not a private file of a user; "" if it is. No I/O."""
    if not stat.S_ISREG(found.st_mode):
        return "is not a file"
    if found.st_uid != user:
        return f"belongs to another user (number {found.st_uid})"
    if found.st_mode & 0o077:
        return "is open to others"
    return ""


def private_folder(path: Path) -> Path:
    """Returns a folder that only this user can access; creates it if needed, else StartError."""
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
        raise StartError(f"{path} must be a private folder of yours, but it {reason}")
    return path


def temporary_place() -> Path:
    """Where the private folder of this user below the temporary folder is, if it was made."""
    return Path(tempfile.gettempdir()).resolve() / f"rain-{os.geteuid()}"


def temporary_folder() -> Path:
    """The private folder of this user below the temporary folder; creates it if needed."""
    place = temporary_place()
    base = place.parent
    # In some containers the owner of the system's files is not user 0.
    trusted = frozenset({0, os.geteuid(), Path("/").stat().st_uid})
    advice = "set TMPDIR to a folder of yours"
    for above in (base, *base.parents):
        reason = objection_above(above.stat(), trusted)
        if reason:
            raise StartError(f"{above} is not safe for a folder of yours: it {reason}; {advice}")
    try:
        return private_folder(place)
    except StartError as error:
        raise StartError(f"{error}; remove it, or {advice}") from None
