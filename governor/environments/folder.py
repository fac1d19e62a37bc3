"""Folders of software environments, below one folder of the user on this machine.

Each environment has a folder of its own, which is made once and shared by all governors of the
user. A lock beside it is held exclusively to make or remove it, and shared to use it. The folder is
complete when it has its mark, which is written last. A folder that a killed governor has left
incomplete is removed before it is made again.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
import sysconfig
import time
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from rain.base.environment import FILES, VARIABLE, WHEELS, Environment
from rain.common.fs import copy_writable, unpack
from rain.daemon.packages import PACKAGES
from rain.governor.environments.conda import PYTHON, check_python, conda_tool, creation
from rain.stream.removing import remove

LIMIT: Final = 10 << 30
"""Bytes of all environments of a user on a machine; unused ones go, the oldest first."""

FAILURES_KEPT: Final = 20
"""Logs of environments that could not be made, the last ones of a user on a machine."""

MARK: Final = "made.json"


def own_environments() -> Path:
    """The folder of this user: below XDG_CACHE_HOME, or in ~/.cache."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    root = Path(base) if base.startswith("/") else Path.home() / ".cache"
    return root / "rain" / "environments"


Folder = bytes | Path
"""A folder as the store has it: a small one is an archive."""


@frozen
class MadeEnvironment:
    """An environment that is there, for the executors and programs that belong to it."""

    environment: Environment
    folder: Path | None  # None when nothing had to be made
    named: Path | None = None  # a conda environment of the user, which is used as it is

    @property
    def conda(self) -> Path | None:
        """Its conda environment."""
        if self.folder is not None and self.environment.conda:
            return self.folder / "conda"
        return self.named

    @property
    def python(self) -> str:
        """The interpreter of its executors."""
        if self.conda is not None:
            return str(self.conda / "bin" / "python")
        if self.folder is None or not self.environment.packages:
            return sys.executable
        return str(self.folder / "venv" / "bin" / "python")

    def check(self) -> None:
        """NotMadeError if it has no interpreter for executors."""
        if self.conda is not None:
            check_python(self.conda)

    def added_to(self, variables: Mapping[str, str], *, for_rain: bool = True) -> dict[str, str]:
        """The variables of a process: those of a governor with those of the environment.

        Executors must find Rain itself; programs may be of another Python, and need not.
        """
        made = {**variables, **dict(self.environment.variables), VARIABLE: self.environment.text}
        before: list[str] = []
        if self.folder is not None and self.environment.files:
            made[FILES] = str(self.folder / "files")
            before.append(made[FILES])
        if self.folder is not None and self.environment.wheels:
            made[WHEELS] = str(self.folder / "wheels")
        if self.folder is not None and self.environment.packages:
            venv = self.folder / "venv"
            made["VIRTUAL_ENV"] = str(venv)
            made["PATH"] = _path(venv, made.get("PATH", os.defpath))
        elif self.conda is not None:
            made["CONDA_PREFIX"] = str(self.conda)
            path = made.get("PATH", os.defpath)
            made["PATH"] = os.pathsep.join([str(self.conda / "bin"), path])
        elif for_rain:  # else the packages of the governor come behind those of the environment
            before.append(PACKAGES)
        if theirs := made.get("PYTHONPATH"):
            before.append(theirs)
        if before:
            made["PYTHONPATH"] = os.pathsep.join(before)
        return made


class EnvironmentFolder:
    """The place of one environment on the disk. All methods may wait for the disk."""

    def __init__(self, root: Path, environment: Environment) -> None:
        self._root = root
        self._environment = environment
        name = f"{environment.key}-{_python()}"
        self.path = root / name
        self.log = root / f"{name}.log"
        self.requirements = self.path / "requirements.txt"
        self.venv = self.path / "venv"
        self.conda = self.path / "conda"
        self.description = self.path / "environment.yml"
        self._lock_path = root / f"{name}.lock"
        self._lock = -1

    def open(self) -> None:
        """Opens its lock; until `give_up`."""
        self._root.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._open_lock()

    def _open_lock(self) -> None:
        self._lock = os.open(self._lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def is_there(self) -> bool | None:
        """Whether the environment exists; if so, it is held from now on.

        None while another process makes it. If it does not exist, only the caller may make it,
        until `finish` or `give_up`.
        """
        try:
            fcntl.flock(self._lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            if self._is_current() and self._is_whole():
                os.utime(self.path / MARK)
                return True
            # A lock is not upgraded in one step: another process may make it in between.
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return None
        if not self._is_current():
            os.close(self._lock)
            self._open_lock()
            return None
        if self._is_whole():
            return None  # to be held together with others, after all
        remove(self.path)
        return False

    def begin(self, files: Folder | None, wheels: Folder | None) -> None:
        """Makes the folder with what has come along."""
        self.log.unlink(missing_ok=True)  # of the last try
        clear_remains(self._root)
        self.path.mkdir(mode=0o700)
        for source, name in ((files, "files"), (wheels, "wheels")):
            if isinstance(source, bytes):
                unpack(source, self.path / name)
            elif source is not None:
                copy_writable(source, self.path / name)
        self.requirements.write_text("".join(f"{one}\n" for one in self._environment.packages))
        if self._environment.conda:
            self.description.write_text(self._environment.conda)

    def steps(self, tool: str | None = None) -> list[list[str]]:
        """The commands that install the packages, one after the other; `tool` is that of conda."""
        if self._environment.conda:
            return [creation(conda_tool(tool), self.conda, self.description)]
        if not self._environment.packages:
            return []
        install = [
            *(str(self.venv / "bin" / "python"), "-m", "pip", "install"),
            *("--disable-pip-version-check", "--no-input", "-r", str(self.requirements)),
        ]
        if self._environment.wheels:
            install += ["--no-index", "--find-links", str(self.path / "wheels")]
        return [[sys.executable, "-m", "venv", "--without-pip", str(self.venv)], install]

    def see_packages_of_governor(self) -> None:
        """Lets the packages of the governor be found behind those of the environment."""
        place = self.conda if self._environment.conda else self.venv
        site = place / "lib" / PYTHON / "site-packages"
        if not site.is_dir():
            return  # of another Python, or of none: only programs run there (see `check_python`)
        added = "; ".join(f"site.addsitedir({folder!r})" for folder in _folders_of_packages())
        (site / "rain.pth").write_text(f"import site; {added}\n")

    def finish(self, limit: int) -> None:
        """The environment is complete: holds it, and removes others if there are too many."""
        size = sum(file.lstat().st_size for file in self.path.rglob("*") if not file.is_dir())
        new = self.path / f"{MARK}.new"
        said = {
            "packages": self._environment.packages or ["conda"] * bool(self._environment.conda),
            "files": self._environment.files,
            "bytes": size,
            "made": time.time(),
        }
        new.write_text(json.dumps(said))
        new.rename(self.path / MARK)
        fcntl.flock(self._lock, fcntl.LOCK_SH)
        self.log.unlink(missing_ok=True)
        shrink(self._root, limit)

    def give_up(self) -> None:
        """The environment could not be made, or is no longer used here."""
        if self._lock < 0:
            return
        lock, self._lock = self._lock, -1
        try:
            if not self._is_whole():
                remove(self.path)
        finally:
            os.close(lock)

    def _is_current(self) -> bool:
        """Whether the lock is the one that others open now; one without use is removed."""
        return _is_file(self._lock, self._lock_path)

    def _is_whole(self) -> bool:
        return (self.path / MARK).exists()


@frozen
class KeptEnvironment:
    """The facts about an environment on the disk."""

    name: str
    packages: tuple[str, ...]
    has_files: bool
    size: int
    used: float  # when an executor of it was started last

    @staticmethod
    def read(folder: Path) -> KeptEnvironment | None:
        """Reads it; None if it is not complete, or was removed meanwhile."""
        try:
            mark = folder / MARK
            used = mark.stat().st_mtime
            said: Any = json.loads(mark.read_text())
        except FileNotFoundError:
            return None
        return KeptEnvironment(
            folder.name, tuple(said["packages"]), bool(said["files"]), said["bytes"], used
        )


def kept_environments(root: Path) -> list[KeptEnvironment]:
    """All complete environments below a folder, the least recently used first."""
    found = [KeptEnvironment.read(folder) for folder in root.glob("*/")]
    return sorted((one for one in found if one is not None), key=lambda one: one.used)


def shrink(root: Path, limit: int) -> list[str]:
    """Removes unused environments until the others fit; gives the names of these."""
    kept = kept_environments(root)
    total = sum(one.size for one in kept)
    removed: list[str] = []
    for one in kept:
        if total <= limit:
            break
        if _removed(root, one.name):
            removed.append(one.name)
            total -= one.size
    return removed


def clear_remains(root: Path) -> None:
    """Removes what is left of environments that are not there: logs of older failures, and locks.

    The logs of the last failures stay for users to read.
    """
    logs = sorted(root.glob("*.log"), key=_time_of, reverse=True)
    kept = {log.stem for log in logs[:FAILURES_KEPT]}
    for lock in root.glob("*.lock"):
        if lock.stem not in kept and not (root / lock.stem / MARK).exists():
            _forget(root, lock)


def _forget(root: Path, path: Path) -> None:
    """Removes the last of an environment with its lock, unless it is being made."""
    try:
        lock = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return  # another governor was faster
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_file(lock, path) and not (root / path.stem / MARK).exists():
            remove(root / path.stem)
            path.with_suffix(".log").unlink(missing_ok=True)
            path.unlink()  # last: a process that has opened it sees that it is gone
    except BlockingIOError:
        pass
    finally:
        os.close(lock)


def _is_file(descriptor: int, path: Path) -> bool:
    """Whether the path still leads to the open file."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _time_of(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _removed(root: Path, name: str) -> bool:
    """Removes an environment, unless it is in use."""
    lock = os.open(root / f"{name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        (root / name / MARK).unlink(missing_ok=True)  # from now on it is incomplete
        remove(root / name)
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
    return True


def _path(venv: Path, path: str) -> str:
    """Where programs are looked for: pip installs none of a package that the governor has."""
    folders = path.split(os.pathsep)
    of_governor = sysconfig.get_path("scripts")
    added = [] if of_governor in folders else [of_governor]
    return os.pathsep.join([str(venv / "bin"), *added, *folders])


def _python() -> str:
    """Tells governors apart whose environments differ: another Python, or other packages below."""
    return blake2b(f"{sys.version}\0{sys.prefix}\0{PACKAGES}".encode(), digest_size=4).hexdigest()


def _folders_of_packages() -> list[str]:
    library = {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}
    inside = tuple(f"{folder}/lib-dynload" for folder in library)
    found = [
        folder
        for folder in sys.path
        if folder
        and folder not in library
        and not folder.startswith(inside)
        and Path(folder).is_dir()
    ]
    return list(dict.fromkeys([*found, PACKAGES]))
