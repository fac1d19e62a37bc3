"""A server with a journal that is killed, and one that goes on in its place."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
from contextlib import ExitStack
from http.client import HTTPConnection
from pathlib import Path
from socket import gethostname
from typing import Any

import pytest

from rain.client import Client, ConnectionException, Output, pickled, remote
from tests.support.waiting import until_now
from tests.whole.daemons import END_SECONDS, Daemon, governor, http_password, server
from tests.whole.test_losses import Gate, gate, held

__all__ = ["gate"]

pytestmark = pytest.mark.whole

PATIENT = ("--client-grace", "600", "--governor-timeout", "600")


@remote(outputs=[Output(encode="pickle")], auto_load=True)
def add(ctx: Any, a: int, b: int) -> int:
    return a + b


@remote(outputs=[Output(encode="pickle")], auto_load=True)
def length_of(ctx: Any, data: bytes) -> int:
    return len(data)


@remote(outputs=[], cpus=50)
def too_large(ctx: Any) -> None:
    """No governor fits it."""


@remote(outputs=[])
def leave_a_file(ctx: Any, path: str, after: object = None) -> None:
    with Path(path).open("a", encoding="ascii") as file:
        file.write("once")


def status(serving: Daemon) -> dict[str, Any]:
    connection = HTTPConnection(serving.http, timeout=END_SECONDS)
    try:
        connection.request("GET", "/status", headers=http_password(serving.http))
        said: dict[str, Any] = json.loads(connection.getresponse().read())
        return said
    finally:
        connection.close()


def uploads(journal: Path) -> list[Path]:
    return list((journal / "uploads").iterdir())


def test_a_killed_server_knows_again_what_it_knew_and_clients_that_stay_away_are_given_up(
    tmp_path: Path,
) -> None:
    # given: a session with results, a large constant, and tasks that no governor can run yet
    journal = tmp_path / "journal"
    kept = ("--journal", str(journal))
    with server(tmp_path, *kept, *PATIENT) as serving:
        client = Client("127.0.0.1", serving.port, server_away=0)
        with governor(tmp_path, "one", serving.address, 2):
            session = client.new_session("work")
            with session:
                done = [add(number, 1) for number in range(10)]
                done.append(length_of(pickled(bytes(100_000))))
                for task in done:
                    task.output.keep()
                session.submit()
                session.wait(done)
                too_large()
                session.submit()
                before = status(serving)
                # when
                serving.kill()
    with server(tmp_path, *kept, *PATIENT) as serving:
        # then
        after = status(serving)
        assert len(after["governors"]) == 1
        assert after["clients"] == 1
        (told,) = after["sessions"]
        (was,) = before["sessions"]
        assert (told["tasks"], told["unfinished"]) == (12, 1)
        assert {**told, "held_up": ""} == {**was, "held_up": ""}
        assert len(uploads(journal)) == 1
        # and: new clients and sessions get numbers that were never used
        with Client("127.0.0.1", serving.port) as other, other.new_session("other") as opened:
            assert opened.session_id == session.session_id + 1
        serving.kill()
    # and when: nobody waits for the client any longer
    with server(tmp_path, *kept, "--client-grace", "0") as serving:
        until_now(lambda: not status(serving)["sessions"])
        assert status(serving)["clients"] == 0
        until_now(lambda: not uploads(journal))
    with pytest.raises(ConnectionException):
        client.new_session()


def test_tasks_that_were_submitted_to_a_killed_server_run_when_it_is_back(tmp_path: Path) -> None:
    # given: tasks that were submitted before there was any governor
    kept = ("--journal", str(tmp_path / "journal"), *PATIENT)
    with server(tmp_path, *kept) as serving:
        client = Client("127.0.0.1", serving.port, server_away=0)
        with client.new_session("early") as session:
            for number in range(20):
                leave_a_file(str(tmp_path / f"{number}.done"))
            session.submit()
            # when
            serving.kill()
    with server(tmp_path, *kept) as serving, governor(tmp_path, "one", serving.address, 2):
        until_now(lambda: not status(serving)["sessions"][0]["unfinished"])
    # then
    files = sorted(tmp_path.glob("*.done"))
    assert len(files) == 20
    assert {file.read_text(encoding="ascii") for file in files} == {"once"}


def test_what_runs_while_a_server_is_killed_and_comes_back_runs_once(
    tmp_path: Path, gate: Gate
) -> None:
    # given: short tasks, some of which have finished, and one that runs
    marks = tmp_path / "marks"
    marks.mkdir()
    kept = ("--journal", str(tmp_path / "journal"), *PATIENT)
    with ExitStack() as stack:
        first = stack.enter_context(server(tmp_path, *kept))
        stack.enter_context(governor(tmp_path, "one", first.address, 2))
        client = Client("127.0.0.1", first.port)
        with client.new_session("work") as session:
            running = held(str(gate.folder))
            for number in range(200):
                leave_a_file(str(marks / str(number)), running if number % 2 else 0)
            session.submit()
            gate.next_start()
            until_now(lambda: list(marks.iterdir()))
            # when
            first.kill()
            where = ("--listen", first.address)
            again = stack.enter_context(server(tmp_path, *kept, *where))
            gate.let_go()
            # then
            session.wait_all()
            (told,) = status(again)["sessions"]
            assert (told["tasks"], told["failure"]) == (201, "")
    assert {file.read_text(encoding="ascii") for file in marks.iterdir()} == {"once"}
    assert len(list(marks.iterdir())) == 200


def test_a_server_that_is_told_to_return_is_replaced_under_its_governors(
    tmp_path: Path, gate: Gate
) -> None:
    # given: a task that runs, and others that wait for it
    kept = ("--journal", str(tmp_path / "journal"), *PATIENT)
    with ExitStack() as stack:
        first = stack.enter_context(server(tmp_path, *kept))
        stack.enter_context(governor(tmp_path, "one", first.address, 1))
        with Client("127.0.0.1", first.port) as client, client.new_session("work") as session:
            running = held(str(gate.folder))
            leave_a_file(str(tmp_path / "mark"), running)
            session.submit()
            gate.next_start()
            # when
            first.send(signal.SIGHUP)
            assert first.process.wait(END_SECONDS) == 0
            again = stack.enter_context(server(tmp_path, *kept, "--listen", first.address))
            gate.let_go()
            # then: nothing was started a second time
            session.wait_all()
            (told,) = status(again)["sessions"]
            assert (told["tasks"], told["failure"]) == (2, "")
    assert (tmp_path / "mark").read_text(encoding="ascii") == "once"


def test_a_server_that_ends_in_order_leaves_only_durable_sessions(tmp_path: Path) -> None:
    # given
    journal = tmp_path / "journal"
    kept = ("--journal", str(journal), *PATIENT)
    with server(tmp_path, *kept) as serving:
        client = Client("127.0.0.1", serving.port, server_away=0)
        with client.session("sweep", durable=True) as durable:
            durable.submit(sum, [1, 2])
        with client.new_session("gone") as session:
            too_large()
            session.submit()
            # when
            assert serving.end() == 0
    # then: the next server begins with a snapshot, and has nothing to wait for
    assert [path.name for path in journal.glob("snapshot-*")] == ["snapshot-00000001"]
    with server(tmp_path, *kept) as serving:
        told = status(serving)
        assert [one["name"] for one in told["sessions"]] == ["sweep"]
        assert (told["clients"], told["governors"]) == (0, [])
        with governor(tmp_path, "one", serving.address, 1):
            with Client("127.0.0.1", serving.port) as client:
                with client.session("sweep", durable=True) as durable:
                    assert durable.submit(sum, [1, 2]).result() == 3
                client.remove_session("sweep")
            assert serving.end() == 0
    # and: what was read again is gone
    assert [path.name for path in sorted(journal.glob("*-*"))] == [
        "snapshot-00000001",
        "snapshot-00000002",
        "turns-00000002",
    ]


def test_a_server_whose_disk_is_full_ends_by_name_and_goes_on_when_there_is_room(
    tmp_path: Path,
) -> None:
    # given: a server that cannot write more than a little
    journal = tmp_path / "journal"
    kept = ("--journal", str(journal), "--no-event-log", *PATIENT)
    with server(tmp_path, *kept) as serving:
        (turns,) = journal.glob("turns-*")
        room = turns.stat().st_size + 20_000
        resource.prlimit(serving.process.pid, resource.RLIMIT_FSIZE, (room, room))
        # when
        accepted = 0
        client = Client("127.0.0.1", serving.port, server_away=0)
        session = client.new_session("much")
        with pytest.raises(ConnectionException), session:  # noqa: PT012 # each may be the last
            while True:
                too_large()
                session.submit()
                accepted += 1
        # then
        assert serving.process.wait(END_SECONDS) == 1
        said = serving.errors.read_text(encoding="utf-8").splitlines()[-1]
        assert said.startswith(f"rain: cannot go on with the journal {turns}: File too large")
    with server(tmp_path, *kept) as serving:
        (told,) = status(serving)["sessions"]
        # The last one may be in the journal without an answer: it is answered when that is synced.
        assert told["tasks"] in {accepted, accepted + 1}
        assert accepted


def test_two_servers_cannot_use_one_journal(tmp_path: Path) -> None:
    journal = str(tmp_path / "journal")
    with server(tmp_path, "--journal", journal):
        second = subprocess.run(
            [
                *(sys.executable, "-m", "rain", "server", "--listen", "127.0.0.1:0", "--no-http"),
                *("--journal", journal, "--logdir", str(tmp_path / "logs")),
            ],
            capture_output=True,
            text=True,
            timeout=END_SECONDS,
            check=False,
        )
    assert second.returncode == 1
    assert second.stderr.splitlines()[-1] == (
        f"rain: the journal {journal} is used by another server (127.0.0.1:0 on {gethostname()});"
        " end that one, wait for its end with --standby, or choose another folder (--journal)"
    )
