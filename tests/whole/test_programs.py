"""Programs and functions with a real cluster of one cpu: their time, threads and places."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from rain.base.thread_limits import THREAD_VARIABLES
from rain.client import (
    Client,
    Output,
    RainException,
    TaskException,
    TaskTimeout,
    remote,
    task_session,
    tasks,
)
from rain.common.ids import ID

pytestmark = pytest.mark.whole

PICKLE = [Output(encode="pickle")]


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    for name in THREAD_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    with Client(cpus=1) as client:
        yield client


@remote(outputs=PICKLE)
def threads(ctx: Any) -> str | None:
    import os  # noqa: PLC0415 -- this runs in another process

    return os.environ.get("OMP_NUM_THREADS")


@remote(outputs=PICKLE)
def square(ctx: Any, number: int) -> int:
    return number * number


@remote(outputs=PICKLE, cpus=0)
def total(ctx: Any, numbers: list[int]) -> int:
    with task_session(ctx) as session:
        parts = [square(number) for number in numbers]
        session.keep_all()
        session.submit()
        return sum(part.output.fetch().load() for part in parts)


def test_the_server_lets_go_what_nobody_has_a_handle_of(client: Client) -> None:
    with client.new_session("rounds") as session:
        kept = square(7)
        kept.output.keep()
        gone: list[ID] = []
        for _ in range(20):
            gone = [square(number).output.id for number in range(50)]
            session.submit()
            session.wait_all()
        client.get_server_info()  # nodes go at the end of the turn that hears of their handles
        with pytest.raises(RainException, match="nobody had a handle of it any more"):
            session.data_object(gone[0])
        assert kept.output.fetch().load() == 49
        kept.update()


def test_programs_and_functions_have_as_many_threads_as_cpus(client: Client) -> None:
    with client.new_session("threads") as session:
        echo = tasks.Execute("printenv OMP_NUM_THREADS", stdout=True)
        own = tasks.Execute("printenv OMP_NUM_THREADS", stdout=True, env={"OMP_NUM_THREADS": "9"})
        function = threads()
        session.keep_all()
        session.submit()
        assert echo.output.fetch().get_bytes() == b"1\n"
        assert own.output.fetch().get_bytes() == b"9\n"
        assert function.output.fetch().load() == "1"


def test_a_program_that_takes_too_long_fails_with_what_it_has_printed(client: Client) -> None:
    with client.new_session("late") as session:
        late = tasks.Execute(["sh", "-c", "echo so far; sleep 60"], timeout=0.2)
        session.submit()
        with pytest.raises(TaskException, match=r"timeout of 0\.2 s") as failed:
            late.wait()
    assert "Its stdout:\nso far" in str(failed.value)
    assert isinstance(failed.value, TaskTimeout)
    assert isinstance(failed.value, TimeoutError)


def test_three_tasks_for_each_cpu_may_wait_for_their_own_tasks(client: Client) -> None:
    with client.new_session("nested") as session:
        waiting = [total([1, 2, 3]) for _ in range(3)]
        session.keep_all()
        session.submit()
        assert [task.output.fetch().load() for task in waiting] == [14] * 3
