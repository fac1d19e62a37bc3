"""Durable sessions: what one program has submitted another one finds, also after a crash."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rain.client import Client, RainException, RainWarning
from tests.whole.daemons import END_SECONDS, governor, server

pytestmark = pytest.mark.whole

PROGRAM = """
import os, signal, sys
from pathlib import Path

from rain.client import Client

RUNS = Path(sys.argv[2])

def square(number):
    with (RUNS / str(number)).open("a") as file:
        file.write("x")
    if number == 3:
        raise ValueError("three")
    return number * number

def large(factor, table):
    with (RUNS / "large").open("a") as file:
        file.write("x")
    return factor * bytes(table)

if __name__ == "__main__":
    with Client("127.0.0.1", sys.argv[1]) as client:
        session = client.session("sweep", durable=True)
        futures = session.map(square, range(20))
        futures.append(session.submit(large, 2, session.put(b"x" * 100_000)))
        if sys.argv[3] == "die":
            session.gather(futures[:2])
            os.kill(os.getpid(), signal.SIGKILL)
        if sys.argv[3] == "fetch":
            print([found if isinstance(found, int) else len(str(found))
                   for found in session.gather(futures, errors="return")])
"""
RESULTS = [number * number if number != 3 else len("three") for number in range(20)] + [200_003]


def run(folder: Path, port: int, what: str) -> subprocess.CompletedProcess[str]:
    script = folder / "program.py"
    script.write_text(PROGRAM)
    (folder / "runs").mkdir(exist_ok=True)
    command = [sys.executable, str(script), str(port), str(folder / "runs"), what]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=4 * END_SECONDS, check=False
    )


def runs(folder: Path) -> dict[str, int]:
    return {file.name: len(file.read_text()) for file in (folder / "runs").iterdir()}


def test_a_program_fetches_on_monday_what_it_has_submitted_on_friday(tmp_path: Path) -> None:
    # given: a program that ends at once, one that is killed, and a server that is killed
    journal = ("--journal", str(tmp_path / "journal"))
    with server(tmp_path, *journal) as serving:
        address = serving.address
        with governor(tmp_path, "one", address, 2):
            assert run(tmp_path, serving.port, "submit").returncode == 0
            assert run(tmp_path, serving.port, "die").returncode == -signal.SIGKILL
            serving.kill()
            with server(tmp_path, "--listen", address, *journal) as back:
                # when
                fetched = run(tmp_path, back.port, "fetch")
                # then
                assert fetched.stdout.strip() == str(RESULTS), fetched.stderr
                found = runs(tmp_path)
                assert found.pop("3") > 1  # what has failed is tried again
                assert set(found.values()) == {1}
                with Client("127.0.0.1", back.port) as client:
                    (told,) = client.sessions()
                    assert (told.name, told.tasks, told.finished) == ("sweep", 21, 20)
                    with client.session("sweep", durable=True) as again:
                        squares = again.futures("square")
                        values = again.gather(squares, errors="skip")
                    assert sorted(values) == sorted(RESULTS[:3] + RESULTS[4:20])
                    client.remove_session("sweep")
                    assert client.sessions() == []


def test_a_durable_session_says_when_it_will_not_last(tmp_path: Path) -> None:
    with server(tmp_path) as serving, Client("127.0.0.1", serving.port) as client:
        with pytest.warns(RainWarning, match="has no journal: the durable session 'sweep' ends"):
            client.session("sweep", durable=True)
        with pytest.raises(RainException, match="there is no durable session 'swep'"):
            client.remove_session("swep")
    with Client(cpus=1) as client, pytest.raises(RainException, match="would end with this client"):
        client.session("sweep", durable=True)
