"""The daemons as programs: how they start, end and fail, and who is harmed by whom."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from rain.client import Client, ConnectionException, Output, remote
from rain.common.secret_file import make_secret_file
from rain.scheduler.horizon import HorizonScheduler
from rain.server.core.messages import Effect, OrderGovernor
from rain.server.recording import Recording, replay
from tests.support.waiting import until_now
from tests.whole.daemons import END_SECONDS, children, daemon, governor, server

pytestmark = pytest.mark.whole


@remote(outputs=[Output(encode="pickle")], auto_load=True)
def add(ctx: Any, a: int, b: int) -> int:
    return a + b


def rain(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs `rain ARGUMENTS` to its end."""
    return subprocess.run(
        [sys.executable, "-m", "rain", *arguments, "--logdir", str(folder / "logs")],
        capture_output=True,
        text=True,
        timeout=END_SECONDS,
        check=False,
    )


def last_line(finished: subprocess.CompletedProcess[str]) -> str:
    assert "Traceback" not in finished.stderr
    return finished.stderr.splitlines()[-1]


def sum_of(client: Client, numbers: range) -> int:
    """A small tree of real tasks."""
    with client.new_session("sum") as session:
        first, *others = [add(number, 0) for number in numbers]
        for other in others:
            first = add(first, other)
        first.output.keep()
        session.submit()
        total: int = first.output.fetch().load()
        return total


def test_what_killed_programs_have_left_on_the_disk_goes_with_the_next_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as name:  # other users may use it, too
        monkeypatch.setenv("TMPDIR", name)
        first, second = Path(name) / "first", Path(name) / "second"
        first.mkdir()
        second.mkdir()
        place = Path(name) / f"rain-{os.geteuid()}" / "work"
        with (
            server(first) as killed_server,
            daemon(first, "governor", "governor", killed_server.address) as killed_governor,
        ):
            for pid in (*children(killed_governor.process.pid), killed_governor.process.pid):
                os.kill(pid, signal.SIGKILL)  # its warden cannot clean up, either
            killed_server.kill()
        left = set(place.iterdir())
        assert len(left) == 2
        with server(second) as other, daemon(second, "other", "governor", other.address):
            until_now(lambda: not left & set(place.iterdir()))
        assert not list(place.iterdir())


def test_a_server_and_its_governor_end_in_order_by_a_signal(tmp_path: Path) -> None:
    with server(tmp_path) as serving, governor(tmp_path, "one", serving.address) as working:
        # when
        status = serving.end()
        # then: the governor is told to stop, and leaves nothing in its work folder
        assert status == 0
        assert working.process.wait(END_SECONDS) == 0
        assert not (tmp_path / "one-work").exists()
        assert "Traceback" not in serving.errors.read_text(encoding="utf-8")


def test_a_governor_that_is_interrupted_ends_in_order_and_the_server_lives(
    tmp_path: Path,
) -> None:
    with server(tmp_path) as serving, Client("127.0.0.1", serving.port) as client:
        with governor(tmp_path, "one", serving.address) as working:
            assert sum_of(client, range(5)) == 10
            working.send(signal.SIGINT)
            assert working.process.wait(END_SECONDS) == 0
        with governor(tmp_path, "two", serving.address):
            assert sum_of(client, range(6)) == 15


def test_a_client_may_end_the_server_and_its_governors(tmp_path: Path) -> None:
    with server(tmp_path) as serving, governor(tmp_path, "one", serving.address) as working:
        with Client("127.0.0.1", serving.port) as client:
            assert sum_of(client, range(5)) == 10
            client.terminate_server()
        assert serving.process.wait(END_SECONDS) == 0
        assert working.process.wait(END_SECONDS) == 0
        with pytest.raises(ConnectionException):
            client.new_session()


def test_a_port_in_use_is_told_in_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        where = f"127.0.0.1:{taken.getsockname()[1]}"
        finished = rain("server", "--listen", where, "--no-http", folder=tmp_path)
    assert finished.returncode == 1
    assert last_line(finished) == (
        f"rain: cannot listen on {where}: Address already in use; choose another address with"
        " --listen"
    )


def test_a_server_that_others_reach_needs_a_secret_and_says_so_in_one_line(tmp_path: Path) -> None:
    finished = rain("server", "--listen", "0.0.0.0:0", "--no-http", folder=tmp_path)
    assert finished.returncode == 1
    assert last_line(finished).startswith(
        "rain: anyone who reaches 0.0.0.0 could run programs here"
    )


def test_one_secret_opens_a_cluster_and_another_one_does_not(tmp_path: Path) -> None:
    # given: a cluster with a secret, open to others
    mine, other = str(tmp_path / "mine"), str(tmp_path / "other")
    make_secret_file(tmp_path / "mine")
    make_secret_file(tmp_path / "other")
    everywhere = ("--listen", "0.0.0.0:0", "--secret-file", mine)
    with (
        server(tmp_path, *everywhere) as serving,
        governor(tmp_path, "one", f"127.0.0.1:{serving.port}", 1, *everywhere),
        governor(tmp_path, "two", f"127.0.0.1:{serving.port}", 1, *everywhere),
    ):
        where = f"127.0.0.1:{serving.port}"

        # when / then: who has it works, with data that crosses the governors
        with Client("127.0.0.1", serving.port, secret_file=mine) as client:
            assert sum_of(client, range(20)) == 190

        # and who has another one is told so in one line
        with pytest.raises(
            ConnectionException, match="the secret is not the secret of this cluster"
        ):
            Client("127.0.0.1", serving.port, secret_file=other)
        refused = rain("governor", where, "--secret-file", other, folder=tmp_path)
        assert refused.returncode == 1
        assert "the secret is not the secret of this cluster" in last_line(refused)
        assert "was not admitted: the secret is not the secret" in serving.errors.read_text()

        # and HTTP asks for its password
        asked = HTTPConnection(serving.http, timeout=20)
        asked.request("GET", "/status")
        assert asked.getresponse().status == 401
        asked.close()
        shown = subprocess.run(
            [sys.executable, "-m", "rain", "token", "--secret-file", mine],
            capture_output=True,
            text=True,
            check=True,
        )
        asked.request("GET", "/status", headers={"authorization": f"Bearer {shown.stdout.strip()}"})
        assert asked.getresponse().status == 200
        asked.close()


def test_an_unreachable_server_is_told_in_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        where = f"127.0.0.1:{free.getsockname()[1]}"
    finished = rain("governor", where, "--workdir", str(tmp_path / "work"), folder=tmp_path)
    assert finished.returncode == 1
    assert last_line(finished) == (
        f"rain: cannot reach the server at {where}: Connection refused; is the server running?"
    )


def test_a_log_folder_that_cannot_be_made_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("a file is in the way", encoding="utf-8")
    finished = rain("server", "--listen", "127.0.0.1:0", "--no-http", folder=tmp_path)
    assert finished.returncode == 1
    assert last_line(finished).startswith(f"rain: the log folder {tmp_path / 'logs'} cannot be")


_PLANS = "class Mine:\n    def schedule(self, graph, news, plan): ...\n"


@pytest.mark.parametrize(
    ("code", "status", "said"),
    [
        (_PLANS, 0, ""),
        ("x = = 1", 1, "cannot be loaded: it raised SyntaxError"),
        (
            f"{_PLANS}    def __init__(self):\n        while True: ...",
            1,
            "cannot be made: it was inter",
        ),
    ],
)
def test_a_server_that_only_checks_says_whether_it_would_start(
    tmp_path: Path, code: str, status: int, said: str
) -> None:
    (tmp_path / "mine.py").write_text(code, encoding="utf-8")
    limited = ("--scheduler", f"{tmp_path}/mine.py:Mine", "--scheduler-limit", "0.1")
    finished = rain("server", "--check", *limited, folder=tmp_path)
    assert finished.returncode == status
    assert said in finished.stderr
    assert finished.stderr.count("\n") == status
    assert not (tmp_path / "logs").exists()


def test_garbage_on_the_port_harms_nobody(tmp_path: Path) -> None:
    with (
        server(tmp_path) as serving,
        governor(tmp_path, "one", serving.address),
        Client("127.0.0.1", serving.port) as client,
    ):
        for garbage in (b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 5000, os.urandom(3000), b"\0"):
            with socket.create_connection(("127.0.0.1", serving.port)) as intruder:
                intruder.sendall(garbage)
        assert sum_of(client, range(20)) == 190
        assert serving.process.poll() is None


def test_two_clients_work_side_by_side_and_one_may_go(tmp_path: Path) -> None:
    with (
        server(tmp_path) as serving,
        governor(tmp_path, "one", serving.address),
        Client("127.0.0.1", serving.port) as staying,
    ):
        with Client("127.0.0.1", serving.port) as going, going.new_session("left open") as session:
            task = add(1, 2)
            task.output.keep()
            session.submit()
            assert sum_of(staying, range(5)) == 10
            assert task.output.fetch().load() == 3
        assert sum_of(staying, range(7)) == 21


PROGRAM = """
import sys
from rain.client import Client, tasks, blob
with Client("127.0.0.1", int(sys.argv[1])) as client, client.new_session("long") as session:
    tasks.Sleep(blob("zzz"), 1000.0)
    session.submit()
    print("waiting", flush=True)
    session.wait_all()
"""


def test_ctrl_c_in_the_middle_ends_the_program_and_its_session(tmp_path: Path) -> None:
    with (
        server(tmp_path) as serving,
        governor(tmp_path, "one", serving.address),
        Client("127.0.0.1", serving.port) as watching,
    ):
        with subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(serving.port)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as program:
            assert program.stdout is not None
            assert program.stdout.readline() == "waiting\n"
            # when
            program.send_signal(signal.SIGINT)
            _, errors = program.communicate(timeout=END_SECONDS)
        # then
        assert program.returncode == -signal.SIGINT
        assert errors.rstrip().endswith("KeyboardInterrupt")
        # and the only cpu is free again
        assert sum_of(watching, range(3)) == 3


def test_a_server_whose_recording_cannot_go_on_says_so_and_goes_on_itself(tmp_path: Path) -> None:
    # given: a recording of which somebody reads only the beginning
    path = tmp_path / "run.record"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with server(tmp_path, "--record", str(path)) as serving:
        assert os.read(reader, 15) == b"rain recording "
        os.close(reader)
        # when / then
        with (
            Client("127.0.0.1", serving.port) as client,
            governor(tmp_path, "one", serving.address),
        ):
            assert sum_of(client, range(3)) == 3
    log = (tmp_path / "server-logs" / "server.log").read_text().splitlines()
    (told,) = [line for line in map(json.loads, log) if "recording" in line["event"]]
    assert told["level"] == "error"
    assert told["cause"] == f"cannot go on with the recording {path}: Broken pipe"


def test_a_recorded_run_is_replayed_to_identical_effects(tmp_path: Path) -> None:
    # given: a real run, with a real governor that is killed in its middle
    path = tmp_path / "run.record"
    with (
        server(tmp_path, "--record", str(path)) as serving,
        Client("127.0.0.1", serving.port) as client,
    ):
        with governor(tmp_path, "one", serving.address) as first:
            assert sum_of(client, range(30)) == 435
            first.kill()
        with governor(tmp_path, "two", serving.address):
            assert sum_of(client, range(10)) == 45
    # when
    outputs: list[list[list[Effect]]] = []
    for _ in range(2):
        with path.open("rb") as file:
            outputs.append([output.effects for output in replay(Recording(file), HorizonScheduler)])
    # then
    orders = [one.orders for turn in outputs[0] for one in turn if isinstance(one, OrderGovernor)]
    assert sum(len(order.tasks.ids) for order in orders) >= 40  # every task of the two sums
    assert outputs[0] == outputs[1]
