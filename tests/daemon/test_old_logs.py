"""Logs in default places go when they are old and nobody writes there any more."""

from __future__ import annotations

import os
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest

from rain.daemon.folders import default_log_folder
from rain.daemon.private import temporary_folder


@pytest.fixture(autouse=True)
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    tmp_path.chmod(0o700)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return temporary_folder() / "logs"


def of(logs: Path, program: str, pid: int, *, host: str = socket.gethostname()) -> Path:
    """A log folder in which nothing was written for years."""
    folder = logs / f"{program}-{host}-{pid}"
    (folder / "executors").mkdir(parents=True)
    log = folder / "executors" / "executor-1.out"
    log.write_text("said")
    for path in (log, log.parent, folder):
        os.utime(path, (1, 1))
    return folder


def ended() -> int:
    """The number of a process that has ended."""
    with subprocess.Popen(["true"]) as process:
        return process.pid


def test_old_logs_of_ended_processes_go_with_the_next_start_of_the_program(logs: Path) -> None:
    old = of(logs, "server", ended())
    default_log_folder("governor")
    assert old.exists()
    assert default_log_folder("server") == logs / f"server-{socket.gethostname()}-{os.getpid()}"
    assert not old.exists()


def test_logs_stay_of_what_runs_and_of_other_machines_and_new_ones(logs: Path) -> None:
    running = of(logs, "server", os.getpid())
    elsewhere = of(logs, "server", ended(), host="elsewhere")
    new = of(logs, "server", ended())
    (new / "executors" / "executor-1.out").write_text("said again")
    default_log_folder("server")
    assert running.exists()
    assert elsewhere.exists()
    assert new.exists()


def test_logs_of_a_cluster_stay_as_long_as_it_runs(logs: Path) -> None:
    old = of(logs, "rain", ended())
    default_log_folder("rain", lambda folder: folder != old)
    assert old.exists()
    default_log_folder("rain", lambda folder: folder == old)
    assert not old.exists()
