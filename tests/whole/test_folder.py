"""A program with a folder goes on where it was when it is killed and runs again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from rain.client import Client, RainException
from tests.support.waiting import until_now
from tests.whole.daemons import END_SECONDS

pytestmark = pytest.mark.whole

CALLS = 60
PROGRAM = """
import random
from pathlib import Path

from rain.client import Client

HERE = Path(__file__).parent

def note(name):
    with (HERE / "runs" / str(name)).open("a") as file:
        file.write("x")

def work(number):
    note(number)
    return number if number % 10 else b"x" * 100_000

def draw():
    note("draw")
    return random.random()

def joined(one, other):
    note("joined")
    return len(str(one)) + len(str(other))

if __name__ == "__main__":
    with Client(cpus=2, folder=HERE / "run") as client:
        numbers = client.map(work, range(CALLS))
        pairs = client.map(joined, numbers[1:9], numbers[11:19])
        draws = [client.submit(draw) for _ in range(3)]
        found = client.gather(numbers)
        print(sum(one if isinstance(one, int) else len(one) for one in found),
              sum(client.gather(pairs)), client.gather(draws))
"""
SUM = sum(number for number in range(CALLS) if number % 10) + CALLS // 10 * 100_000


def start(folder: Path, program: str = PROGRAM) -> subprocess.Popen[str]:
    script = folder / "program.py"
    script.write_text(program.replace("CALLS", str(CALLS)))
    return subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def result(started: subprocess.Popen[str]) -> str:
    said, errors = started.communicate(timeout=4 * END_SECONDS)
    assert started.returncode == 0, errors
    return said


def runs(folder: Path) -> dict[str, int]:
    return {file.name: len(file.read_text()) for file in (folder / "runs").iterdir()}


def has_run(folder: Path, least: int) -> bool:
    return len(runs(folder)) >= least


def test_what_a_killed_program_has_computed_is_not_computed_again(tmp_path: Path) -> None:
    # given: a program that is killed twice, each time when it has computed more
    (tmp_path / "runs").mkdir()
    slow = PROGRAM.replace("note(number)", "note(number); __import__('time').sleep(0.05)")
    for more in (5, 25):
        killed = start(tmp_path, slow)
        until_now(partial(has_run, tmp_path, more))
        killed.send_signal(signal.SIGKILL)
        killed.communicate()
    assert len(runs(tmp_path)) < CALLS
    # when
    first = result(start(tmp_path, slow))
    # then: what ran when it was killed has run again
    assert first.startswith(f"{SUM} ")
    found = runs(tmp_path)
    assert sum(found[str(number)] - 1 for number in range(CALLS)) <= 4 * 2
    assert (found["draw"], found["joined"]) == (3, 8)
    # and: when it runs again nothing is computed, and what was drawn stays
    assert result(start(tmp_path, slow)) == first
    assert runs(tmp_path) == found
    # and: after a change only what has changed is computed, and what gets other values by it
    changed = slow.replace("return len(str(one))", "return 1 + len(str(one))")
    assert result(start(tmp_path, changed)) != first
    assert runs(tmp_path) == {**found, "joined": 16}


def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with Client(cpus=1, folder=folder) as client:
        assert client.submit(pow, 2, 3).result() == 8
        with pytest.raises(RainException, match="run is in use by another client of this program"):
            Client(folder=folder)
        second = f"from rain.client import Client; Client(folder={str(folder)!r})"
        told = subprocess.run(
            [sys.executable, "-c", second], capture_output=True, text=True, check=False
        )
        assert f"run is in use by process {os.getpid()}: wait for its end" in told.stderr
    with Client(cpus=1, folder=folder) as client:
        future = client.submit(pow, 2, 3)
        assert (future.result(), future.info().cache) == (8, "taken from the cache")
    (tmp_path / "file").write_text("")
    with pytest.raises(RainException, match="file cannot be used: it is a file"):
        Client(folder=tmp_path / "file")
    with pytest.raises(RainException, match="folder is the path of a folder, not 7"):
        Client(folder=7)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType] # as users may
    with pytest.raises(RainException, match=r"^folder would describe a cluster that starts now"):
        Client("localhost", folder=folder)
    with pytest.raises(RainException, match="leave folder out"):
        Client(local=True, folder=folder)
