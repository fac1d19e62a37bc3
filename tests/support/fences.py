"""A control group around a program under test: it cannot take all processes of the machine."""

from __future__ import annotations

import os
import secrets
import signal
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.support.waiting import until_now

_GROUPS = Path("/sys/fs/cgroup/pids")
_OF_MEMORY = Path("/sys/fs/cgroup/memory")
_JOIN = 'echo 0 >"$0/cgroup.procs" && exec "$@"'


@contextmanager
def fence(most: int, *, is_task: bool = False) -> Generator[tuple[Path, Sequence[str]], None, None]:
    """Such a group, and the words before a command that is to run in it.

    A governor in a group that looks like that of a task makes none itself.
    """
    number = os.getpid()
    name = f"rain-{number}-{secrets.token_hex(4)}" if is_task else f"fence-{number}"
    group = _GROUPS / name
    group.mkdir()
    try:
        (group / "pids.max").write_text(str(most))
        yield group, ("sh", "-c", _JOIN, str(group))
    finally:
        (group / "pids.max").write_text("0")
        until_now(lambda: _is_empty(group))
        for folder in reversed([group, *groups_in(group)]):
            folder.rmdir()


@contextmanager
def memory_place() -> Generator[tuple[Path, Sequence[str]], None, None]:
    """A group without a limit, in which a governor makes its own for memory."""
    group = _OF_MEMORY / f"fence-{os.getpid()}"
    group.mkdir()
    try:
        yield group, ("sh", "-c", _JOIN, str(group))
    finally:
        until_now(lambda: _is_empty(group))
        for folder in reversed([group, *groups_in(group)]):
            folder.rmdir()


def groups_in(group: Path) -> list[Path]:
    """All groups below one, the higher ones first."""
    return sorted(path for path in group.rglob("*") if path.is_dir())


def processes_in(group: Path) -> list[int]:
    """The processes of a group and of all below."""
    return [
        int(pid)
        for folder in (group, *groups_in(group))
        for pid in (folder / "cgroup.procs").read_text().split()
    ]


def _is_empty(group: Path) -> bool:
    pids = processes_in(group)
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return not pids
