"""What the cells of a notebook do to each other: nothing, however one of them has ended."""

import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rain.client import (
    Client,
    DataObject,
    Input,
    Program,
    Session,
    TaskException,
    blob,
    remote,
)
from tests.client.fake import World
from tests.support.pipes import named_pipe

pytestmark = pytest.mark.whole


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with Client(cpus=1) as made:
        yield made


@pytest.fixture
def default(client: Client) -> Iterator[Session]:
    session = client.new_session("notebook", default=True)
    yield session
    session.close()


@remote(auto_load=True, auto_encode="pickle")
def divide(ctx: Any, a: float, b: float) -> float:
    return a / b


@remote()
def echo(ctx: Any, value: Any) -> Any:
    return value


@remote()
def say_and_stay(ctx: Any, pipe: str) -> str:
    with Path(pipe).open("w") as file:
        file.write("here\n")
    threading.Event().wait()
    return "never"


@remote()
def row(ctx: Any, number: int) -> Any:
    return {"number": number}


@remote()
def numbers(ctx: Any, *rows: Any) -> Any:
    return [read.load()["number"] for read in rows]


@pytest.mark.parametrize("fuse", [False, True])
def test_compute_brings_values_of_functions_that_do_not_say_how_these_are_encoded(
    client: Client, fuse: bool
) -> None:
    with client.new_session("notebook", fuse=fuse) as session:
        assert session.compute(numbers(row(1), row(2))).load() == [1, 2]
        assert session.compute(numbers(row(3))).load() == [3]
        assert session.compute(echo(b"data")).get_bytes() == b"data"
        assert session.compute(echo("text")).get_str() == "text"


def test_what_a_program_reads_is_not_pickled_by_compute(client: Client) -> None:
    count = Program(("cat", Input("rows", path="rows")), stdout=True)
    with (
        client.new_session("notebook") as session,
        pytest.raises(TaskException, match=r'write @remote\(auto_encode="pickle"\)'),
    ):
        session.compute(count(rows=row(1)))


def test_a_submitted_function_keeps_the_rule_of_rain_0_4(client: Client) -> None:
    with client.new_session("as in Rain 0.4") as session:
        task = row(1)
        session.submit()
        with pytest.raises(TaskException, match=r'write @remote\(auto_encode="pickle"\)'):
            task.wait()


def test_a_cell_that_fails_leaves_the_default_session_to_the_next_one(default: Session) -> None:
    # the first cell
    broken = divide(1, 0)
    default.submit()
    with pytest.raises(TaskException, match="ZeroDivisionError"):
        default.wait_all()
    # the second cell
    fine = divide(6, 2)
    fine.output.keep()
    default.submit()
    default.wait_all()
    assert fine.output.fetch().load() == 3.0
    # a third one
    with pytest.raises(TaskException, match="ZeroDivisionError"):
        broken.wait()


@pytest.mark.parametrize("size", [1, 300_000])
def test_compute_goes_on_after_a_failure_in_a_session_that_stops(client: Client, size: int) -> None:
    with client.new_session("as in Rain 0.4") as session:
        with pytest.raises(TaskException, match="without a content type"):
            session.compute(divide(blob(bytes(size)), 1))
        assert session.compute(divide(6, 2)).load() == 3.0
        session.wait_all()


def test_a_session_by_name_ends_with_its_first_failure(client: Client) -> None:
    with client.new_session("as in Rain 0.4") as session:
        divide(1, 0)
        session.submit()
        for _ in range(2):
            with pytest.raises(TaskException, match="ZeroDivisionError"):
                session.wait_all()
        with pytest.raises(TaskException, match="ZeroDivisionError"):
            session.compute(divide(6, 2))


def test_what_an_interrupted_cell_computed_makes_way_for_the_next(
    default: Session, tmp_path: Path
) -> None:
    with named_pipe(tmp_path / "pipe") as pipe:

        def interrupt() -> None:
            pipe.hear()
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

        interrupting = threading.Thread(target=interrupt)
        interrupting.start()
        stays = say_and_stay(str(tmp_path / "pipe"))
        with pytest.raises(KeyboardInterrupt):
            default.compute(stays)
        interrupting.join()
    # On the only cpu:
    assert default.compute(divide(6, 2)).load() == 3.0
    with pytest.raises(TaskException, match="it was cancelled"):
        stays.wait()


def fetch_all(session: Session, obj: DataObject) -> None:
    session.fetch_all([obj])


def wait(session: Session, obj: DataObject) -> None:
    session.wait([obj])


def wait_some(session: Session, obj: DataObject) -> None:
    session.wait_some([obj])


def download(session: Session, obj: DataObject) -> None:
    session.download(obj, "never")


@pytest.mark.parametrize(
    "waiting",
    [
        Session.fetch,
        fetch_all,
        wait,
        wait_some,
        download,
    ],
)
def test_what_an_interrupted_call_waited_for_is_cancelled(
    here: World, waiting: Callable[[Session, DataObject], object]
) -> None:
    output = divide(1, 2, session=here.session).output
    output.keep()
    here.session.submit()
    here.server.errors["wait"] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        waiting(here.session, output)
    assert here.server.cancelled == [([], [output.packed_id], False)]


def test_all_of_a_session_is_cancelled_when_its_end_was_waited_for(here: World) -> None:
    divide(1, 2, session=here.session)
    here.session.submit()
    here.server.errors["wait"] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        here.session.wait_all()
    assert here.server.cancelled == [([], [], True)]


def test_only_the_owner_of_a_session_cancels(here: World) -> None:
    task = divide(1, 2, session=here.session)
    here.session.submit()
    here.server.errors["wait"] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        task.wait()
    assert here.server.cancelled == [([task.packed_id], [], False)]
    joined = here.client.join_session(here.session.session_id)
    other = divide(1, 2, session=joined)
    joined.submit()
    with pytest.raises(KeyboardInterrupt):
        other.wait()
    assert len(here.server.cancelled) == 1
