"""Decides which folders are used as caches, checks their permissions, and sets those of new files.

An entry may contain pickles. So a user who can write to a cache can run code as every user who
reads it. Therefore the default folder belongs to the user, and is used only while nobody else can
write to it. A folder that the user has named is trusted as it is. New files get the permissions and
the group of the folder, whatever the umask of the process.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from attrs import frozen

from rain.base.caching import OWN_FOLDER
from rain.cache.errors import CacheError

ONLY_OWNER = 0o700
_OTHERS = 0o077
_OTHERS_WRITE = 0o022
_GROUP = 0o070
_FOLDER_RIGHTS = 0o2777
_FILE_RIGHTS = 0o666

TAG = "CACHEDIR.TAG"
_TAG_TEXT = "Signature: 8a477f597d28d172789f06886806bc55\n# Results of Rain tasks.\n"


@frozen
class CachePlace:
    """A folder that can be used."""

    path: Path
    is_shared: bool  # others than its owner may read or write there
    group: int
    folder_rights: int
    file_rights: int

    def make_folder(self, path: Path) -> None:
        """Makes a folder with the rights of the cache; it may be there already."""
        try:
            path.mkdir()
        except FileExistsError:
            return
        self.share(path, self.folder_rights)

    def share(self, made: Path | int, rights: int) -> None:
        """Lets others use what was made, a path or a descriptor, as the folder lets them."""
        if not self.is_shared:
            return
        with suppress(PermissionError):  # its maker is not of this group, and the rest decides
            os.chown(made, -1, self.group)
        os.chmod(made, rights)  # noqa: PTH101 # of a descriptor, too


def own_folder() -> Path:
    """The folder of this user: below XDG_CACHE_HOME, or in ~/.cache."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base.startswith("/") else Path.home() / ".cache") / "rain" / "results"


def open_place(word: str) -> CachePlace:
    """The folder that a kind of tasks names, made if it is missing; CacheError if unusable."""
    is_own = word == OWN_FOLDER
    path = own_folder() if is_own else Path(word)
    try:
        if not is_own:
            path.mkdir(parents=True, exist_ok=True)
        elif not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.mkdir(mode=ONLY_OWNER, exist_ok=True)
        status = path.stat()
        if is_own and (fault := _fault(status)):
            raise CacheError(f"the cache {path} {fault}")
        place = _place(path, status)
        for folder in ("entries", "journals", "new"):
            place.make_folder(path / folder)
        if not (path / TAG).exists():
            (path / TAG).write_text(_TAG_TEXT)
            place.share(path / TAG, place.file_rights)
    except OSError as error:
        raise CacheError(f"the cache {path} cannot be used: {error.strerror}") from None
    return place


def _place(path: Path, status: os.stat_result) -> CachePlace:
    mode = stat.S_IMODE(status.st_mode)
    # What is made inside of folders with a group for all gets that group, too.
    folder_rights = mode & _FOLDER_RIGHTS | (stat.S_ISGID if mode & _GROUP else 0)
    is_shared = bool(mode & _OTHERS)
    return CachePlace(path, is_shared, status.st_gid, folder_rights, mode & _FILE_RIGHTS | 0o400)


def _fault(status: os.stat_result) -> str:
    """Why the folder that nobody has named is not the user's own; "" if it is."""
    if not stat.S_ISDIR(status.st_mode):
        return "is not a folder"
    if status.st_uid != os.getuid():
        return "belongs to another user"
    if status.st_mode & _OTHERS_WRITE:
        return "can be written by others: name it as cache=FOLDER if you trust them"
    return ""
