"""A standby takes over when the server is killed or stands still, and nobody loses anything."""

from __future__ import annotations

import signal
from collections.abc import Generator, Iterable
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import pytest

from rain.client import Client, ConnectionException, get_client
from tests.support.tls import keys_of
from tests.support.waiting import until_now
from tests.whole.daemons import END_SECONDS, Daemon, daemon, governor, server
from tests.whole.test_journal import PATIENT
from tests.whole.test_losses import Gate, gate, held

__all__ = ["gate"]

pytestmark = pytest.mark.whole


@contextmanager
def standby(folder: Path, *arguments: str) -> Generator[Daemon]:
    own = ("--listen", "127.0.0.1:0", "--standby")
    with daemon(folder, "standby", "server", *own, *arguments) as started:
        yield started


def mark(folder: str, number: int, *_: object) -> int:
    with (Path(folder) / str(number)).open("a", encoding="ascii") as file:
        file.write("once")
    return number


def length_of(data: bytes, _: object) -> int:
    return len(data)


def waits_for_its_own(folder: str, gate: str) -> int:
    client = get_client()
    inner = client.submit(mark, folder, 1000)
    with Path(gate, "started").open("w", encoding="ascii") as file:
        file.write("0\n")
    with Path(gate, "go").open(encoding="ascii") as file:
        file.read(1)
    return inner.result() + client.submit(mark, folder, 1001).result()


def written_in(marks: Path, numbers: Iterable[int]) -> list[str]:
    """What calls with these numbers have written: a word each time they began."""
    return [(marks / str(number)).read_text(encoding="ascii") for number in numbers]


def test_a_standby_takes_over_from_a_server_that_was_killed(tmp_path: Path, gate: Gate) -> None:
    # given: a server with a standby, two governors and a client that know both addresses
    marks = tmp_path / "marks"
    marks.mkdir()
    kept = ("--journal", str(tmp_path / "journal"), *PATIENT)
    with ExitStack() as stack:
        first = stack.enter_context(server(tmp_path, *kept))
        second = stack.enter_context(standby(tmp_path, *kept))
        both = f"{first.address},{second.address}"
        for name in ("one", "two"):
            stack.enter_context(governor(tmp_path, name, both, 2))
        with Client(both) as client:
            # and: a durable session, a task that waits for its own, data, and much to do
            constant = client.put(b"x" * 3_000_000)
            nested = client.submit(waits_for_its_own, str(marks), str(gate.folder))
            gate.next_start()
            calls = client.map(partial(mark, str(marks)), range(500))
            late = client.submit(length_of, constant, nested)
            called: list[int] = []
            late.add_done_callback(lambda future: called.append(future.result()))
            client.gather(calls[:101])
            known = written_in(marks, range(101))
            # when
            first.kill()
            # then: all of it goes on
            gate.let_go()
            assert client.gather(calls) == list(range(500))
            assert nested.result() == 2001
            assert late.result() == 3_000_000
            until_now(lambda: bool(called))
            assert called == [3_000_000]
            assert client.address == second.address
        # and: what had finished has not begun again. (A call that has just begun may be moved.)
        assert sorted(int(path.name) for path in marks.iterdir()) == [*range(500), 1000, 1001]
        assert written_in(marks, range(101)) == known
        assert written_in(marks, (1000, 1001)) == ["once", "once"]


def test_a_server_that_stood_still_meanwhile_ends_and_harms_nobody(
    tmp_path: Path, gate: Gate
) -> None:
    # given: an encrypted cluster whose server is stopped while a task runs
    tls = ("--tls", str(keys_of()))
    kept = ("--journal", str(tmp_path / "journal"), "--lease-seconds", "1", *PATIENT, *tls)
    with ExitStack() as stack:
        first = stack.enter_context(server(tmp_path, *kept))
        second = stack.enter_context(standby(tmp_path, *kept))
        both = f"{first.address},{second.address}"
        stack.enter_context(governor(tmp_path, "one", both, 1, *tls))
        client = stack.enter_context(Client([first.address, second.address], tls=keys_of()))
        with client.new_session("work") as session:
            running = held(str(gate.folder))
            running.output.keep()
            session.submit()
            gate.next_start()
            first.send(signal.SIGSTOP)
            gate.let_go()
            # when / then: the standby leads, and the task has run once
            assert running.output.fetch().load() == 7
            assert client.address == second.address
            # and when: the first one goes on
            first.send(signal.SIGCONT)
            # then
            assert first.process.wait(END_SECONDS) == 1
            said = first.errors.read_text(encoding="utf-8").splitlines()[-1]
            assert f"was lost: the server at {second.address} has taken it" in said
            session.wait_all()


def test_a_server_that_is_told_to_return_hands_over_to_its_standby(
    tmp_path: Path, gate: Gate
) -> None:
    # given: a task that runs
    kept = ("--journal", str(tmp_path / "journal"), *PATIENT)
    with ExitStack() as stack:
        first = stack.enter_context(server(tmp_path, *kept))
        second = stack.enter_context(standby(tmp_path, *kept))
        both = f"{first.address},{second.address}"
        stack.enter_context(governor(tmp_path, "one", both, 1))
        client = stack.enter_context(Client(both))
        with client.new_session("work") as session:
            running = held(str(gate.folder))
            running.output.keep()
            session.submit()
            gate.next_start()
            # when
            first.send(signal.SIGHUP)
            assert first.process.wait(END_SECONDS) == 0
            gate.let_go()
            # then: it has run once, which would else wait at the gate
            assert running.output.fetch().load() == 7
            assert client.address == second.address


def test_a_standby_says_by_name_that_it_is_one_and_ends_in_order(tmp_path: Path) -> None:
    kept = ("--journal", str(tmp_path / "journal"))
    with server(tmp_path, *kept) as first, standby(tmp_path, *kept) as second:
        with pytest.raises(ConnectionException, match="this is a standby, and another server"):
            Client(second.address)
        assert second.end() == 0
        with Client(f"{second.address},{first.address}") as client:
            assert client.address == first.address
