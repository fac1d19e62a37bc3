"""Governors inside a real Dask cluster: they live and end with its workers, or before."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from rain.base.errors import StartError
from rain.launchers.inside_dask import InDask
from tests.launchers.real_slurm import free_ports
from tests.support.waiting import until_now

ROOT = Path(__file__).parents[2]


def environment(folder: Path) -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PYTHONSAFEPATH": "1",
        "XDG_STATE_HOME": str(folder / "state"),
        "DASK_TEMPORARY_DIRECTORY": str(folder),
    }


def rain(folder: Path, *arguments: str) -> str:
    """What `rain` prints, in a process of its own: Dask has threads that stay."""
    ran = subprocess.run(
        [sys.executable, "-m", "rain", *arguments],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.fixture
def dask(tmp_path: Path) -> Generator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A scheduler with two workers, which are processes of their own."""
    (port,) = free_ports(1)
    address = f"127.0.0.1:{port}"
    common = ["--no-dashboard", "--host", "127.0.0.1"]
    with ExitStack() as stack:

        def start(name: str, *words: str) -> subprocess.Popen[bytes]:
            log = stack.enter_context((tmp_path / f"{name}.log").open("wb"))
            process = subprocess.Popen(
                [sys.executable, "-m", "dask", *words, *common],
                cwd=tmp_path,
                env=environment(tmp_path),
                stdout=log,
                stderr=log,
            )
            stack.callback(process.wait)
            stack.callback(process.terminate)
            return process

        start("scheduler", "scheduler", "--port", str(port))
        workers = [
            start(name, "worker", address, "--nthreads", "1", "--name", name, "--no-nanny")
            for name in ("one", "two")
        ]
        yield address, workers


@pytest.mark.whole
def test_governors_run_on_the_workers_and_go_with_them(
    tmp_path: Path, dask: tuple[str, list[subprocess.Popen[bytes]]]
) -> None:
    address, workers = dask
    for name in ("one", "two"):
        until_now(partial(_says, tmp_path / f"{name}.log", "Registered to"))
    started = rain(
        tmp_path, *("start", "dask", address, "--wait", "2", "--listen", "0", "--http-listen", "0")
    )
    runs = rain(tmp_path, "status").count("running")
    workers[0].kill()
    ended = until_now(lambda: _ended(rain(tmp_path, "status")))
    rain(tmp_path, "stop")

    assert "a server and 2 governors, submitted to dask" in started
    assert runs == 2
    assert ended.count("its worker has gone") == 1
    assert ended.count("running") == 1
    assert workers[1].poll() is None


def _says(log: Path, words: str) -> bool:
    return words in log.read_text()


def _ended(status: str) -> str:
    return status if "ended" in status else ""


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "name the scheduler of the Dask cluster: rain start dask HOST:PORT"),
        (["--partition=long"], "name the scheduler"),
        (["inproc://10.0.0.1/1"], "need workers that are processes"),
    ],
)
def test_what_is_no_scheduler_is_refused(options: list[str], words: str) -> None:
    with pytest.raises(StartError, match=words):
        InDask().room(options)
