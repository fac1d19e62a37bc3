"""Makes and removes work folders: each belongs to the process that holds its lock.

A program removes its work folder at its end. A killed program cannot, but the kernel releases its
lock. So each program removes unlocked folders when it starts: those in the default place, those to
which a link in the default place leads, and the one where its own folder shall be.

Embedded clusters have their folders directly in the temporary folder, so that tests and notebooks
need no private one. These have locks, too.
"""

from __future__ import annotations

import fcntl
import glob
import os
import socket
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import define

from rain.base.errors import StartError
from rain.daemon.private import (
    ONLY_OWNER,
    objection,
    objection_to_file,
    private_folder,
    temporary_folder,
    temporary_place,
)
from rain.stream.removing import remove

if TYPE_CHECKING:  # programs that have no log use this, too
    from structlog.typing import FilteringBoundLogger

LOCK = ".rain-work-folder"
"""The file that is locked. Nobody removes a folder without it, which may be a user's."""


SHARED_MEMORY = Path("/dev/shm")

_WORK = "work"
"""The folder of the default place, below the private folder of the user."""


@define(eq=False)
class WorkFolder:
    """A folder that nobody else uses, until it is removed or this process ends."""

    path: Path
    _lock: int | None  # None where the filesystem has no locks: such a folder stays after a kill
    link: Path | None = None  # in the default place, if the folder is elsewhere

    @staticmethod
    def make(path: Path | None, program: str) -> WorkFolder:
        """Creates the folder, by default in a new place; only this user can access it."""
        if path is None:
            return _make(_new_name(program))
        # A link counts as existing even if it is broken.
        if os.path.lexists(path):
            abandoned = _take_over(path)
            if abandoned is None:
                raise StartError(
                    f"the work folder {path} exists already; choose a new one, because it is"
                    " removed at the end"
                )
            abandoned.remove()
        made = _make(path)
        if any((above / LOCK).exists() for above in made.path.parents):
            return made  # it is a part of a cluster's folder, and is removed with that
        # Without a temporary folder of ours, only the next start in the same place removes it.
        with suppress(StartError, OSError):
            link = _new_name(program)
            link.symlink_to(made.path)
            made.link = link
        return made

    @staticmethod
    def of_cluster(name: str) -> WorkFolder:
        """The folder of a cluster inside of this program, in the temporary folder."""
        path = Path(tempfile.mkdtemp(prefix=f"rain-{name}{_host()}")).resolve()
        return WorkFolder(path, _new_lock(path))

    @staticmethod
    def in_shared_memory(program: str) -> WorkFolder:
        """A second folder of a program, whose files are in memory and nowhere else."""
        return _make(SHARED_MEMORY / f"rain-{program}{_host()}{os.getpid()}-{os.urandom(4).hex()}")

    @property
    def lock(self) -> tuple[int, ...]:
        """The descriptor of the lock, for another process that is to hold it as well."""
        return () if self._lock is None else (self._lock,)

    def remove(self) -> None:
        """Removes the folder with all that is in it; what is gone already is ignored."""
        # The lock goes last, so that a removal that is interrupted can be taken up again.
        with suppress(FileNotFoundError):
            for entry in self.path.iterdir():
                if entry.name != LOCK:
                    remove(entry)
        remove(self.path)
        self._remove_link()
        self.let_go()

    def keep(self) -> None:
        """Leaves the folder to the user: no program removes it any more."""
        (self.path / LOCK).unlink(missing_ok=True)
        self._remove_link()
        self.let_go()

    def _remove_link(self) -> None:
        if self.link is not None:
            self.link.unlink(missing_ok=True)

    def let_go(self) -> None:
        """Leaves the folder to the next program, if it is still there. Idempotent."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def remove_abandoned(log: FilteringBoundLogger) -> None:
    """Removes the folders of programs of this machine that were killed, as far as the default
    places have them or lead to them."""
    try:
        default = [*_place().iterdir()] if (temporary_place() / _WORK).exists() else []
    except StartError as error:  # a program whose own folder is elsewhere needs none
        log.warning("folders of programs that were killed are not looked for", reason=str(error))
        return
    shared = SHARED_MEMORY.glob(f"rain-*{glob.escape(_host())}*")
    for abandoned in _abandoned([*default, *_of_clusters("*"), *shared]):
        try:
            abandoned.remove()
            log.info("the folder of a program that was killed is removed", folder=abandoned.path)
        except OSError as error:
            log.warning("work folder not removed", folder=abandoned.path, reason=str(error))
        finally:
            abandoned.let_go()


def remove_abandoned_clusters(name: str) -> None:
    """Removes the folders of clusters inside of programs that were killed; what cannot be stays."""
    for abandoned in _abandoned(_of_clusters(name)):
        with suppress(OSError):
            abandoned.remove()
        abandoned.let_go()


def _abandoned(paths: Iterable[Path]) -> Iterator[WorkFolder]:
    for path in paths:
        # On another machine, which has the same disk, the locks of this one may be unknown.
        if _host() not in path.name:
            continue
        abandoned = _followed(path) if path.is_symlink() else _take_over(path)
        if abandoned is not None:
            yield abandoned


def _followed(link: Path) -> WorkFolder | None:
    """The folder to which a link leads, as above. A link to a folder that has gone is removed."""
    folder = link.readlink()
    abandoned = _take_over(folder)
    if abandoned is not None:
        abandoned.link = link
    elif not (folder / LOCK).exists():
        link.unlink(missing_ok=True)
    return abandoned


def _of_clusters(name: str) -> Iterable[Path]:
    return Path(tempfile.gettempdir()).glob(f"rain-{name}{glob.escape(_host())}*")


def _place() -> Path:
    return private_folder(temporary_folder() / _WORK)


def _new_name(program: str) -> Path:
    """A unique one in the default place, because pids are reused."""
    return _place() / f"{program}{_host()}{os.getpid()}-{os.urandom(4).hex()}"


def _host() -> str:
    return f"-{socket.gethostname()}-"


def _make(path: Path) -> WorkFolder:
    try:
        path.mkdir(mode=ONLY_OWNER, parents=True)
        path = path.resolve()
        return WorkFolder(path, _new_lock(path))
    except OSError as error:
        raise StartError(
            f"the work folder {path} cannot be made: {error.strerror}; choose another one"
        ) from None


def _new_lock(folder: Path) -> int | None:
    """The lock of a new folder; it has its name once it is held, so that nobody takes it over."""
    new = folder / f"{LOCK}.new"
    lock = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        new.unlink()
        return None
    new.rename(folder / LOCK)
    return lock


def _take_over(path: Path) -> WorkFolder | None:
    """The folder if it is one that nobody holds any more; it is then held here."""
    try:
        lock = os.open(path / LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        found = os.fstat(lock)
        # Without a name it was removed just now. Others may make links to our files in theirs.
        is_ours = not objection(path.lstat(), os.geteuid())
        if found.st_nlink and is_ours and not objection_to_file(found, os.geteuid()):
            return WorkFolder(path, lock)
    except OSError:  # it is held, or the filesystem has no locks
        pass
    os.close(lock)
    return None
