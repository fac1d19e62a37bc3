"""Local mode: a whole cluster in the process and the threads of who waits."""

import asyncio
import concurrent.futures
import decimal
import os
import pickle
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rain.client import (
    AsyncClient,
    CancelledError,
    Client,
    Program,
    RainException,
    TaskException,
    as_completed,
    blob,
    get_client,
    remote,
    tasks,
)

ran: list[Any] = []
"""Calls of this module run in this process: functions of modules are pickled by name."""


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    ran.clear()


def note(value: Any) -> Any:
    ran.append(value)
    return value


def where() -> tuple[int, int]:
    return os.getpid(), threading.get_ident()


def total(array: "np.ndarray[Any, Any]") -> float:
    return float(array.sum())


def negated(value: int) -> int:
    return -value


def test_a_call_runs_in_the_thread_that_waits_for_it(client: Client) -> None:
    assert client.submit(where).result() == (os.getpid(), threading.get_ident())


def third() -> str:
    decimal.getcontext().rounding = decimal.ROUND_UP  # a task's own, and not the program's
    return str(1 / decimal.Decimal(3))


def test_each_call_calculates_with_the_settings_that_it_was_made_with(client: Client) -> None:
    with decimal.localcontext(prec=3):
        three = client.submit(third)
    with decimal.localcontext(prec=5):
        five = client.submit(third)
        assert (three.result(), five.result()) == ("0.334", "0.33334")
        assert third() == "0.33334"
    assert client.submit(third).result() == "0.3333333333333333333333333334"
    assert decimal.getcontext().rounding == decimal.ROUND_HALF_EVEN


def test_nothing_runs_before_somebody_waits(client: Client) -> None:
    futures = client.map(note, range(3))
    assert ran == []
    assert futures[0].result() == 0
    assert ran == [0]
    client.gather(futures)
    assert ran == [0, 1, 2]


def test_calls_run_in_the_order_in_which_they_were_made(client: Client) -> None:
    futures = client.map(note, range(100))
    assert {future.result() for future in as_completed(futures)} == set(range(100))
    assert ran == list(range(100))


def test_two_runs_of_a_program_run_its_calls_in_the_same_order() -> None:
    orders: list[list[int]] = []
    for _ in range(2):
        ran.clear()
        with Client(local=True) as client:
            client.wait([client.options(cpus=1 + i % 3).submit(note, i) for i in range(40)])
        orders.append(list(ran))
    assert orders[0] == orders[1]
    assert sorted(orders[0]) == list(range(40))


def test_arguments_and_results_are_copies_as_in_processes(client: Client) -> None:
    given = [1]

    def change(items: list[int]) -> list[int]:
        items.append(2)
        return items

    result = client.submit(change, given).result()
    assert (given, result) == ([1], [1, 2])
    array = client.put(np.zeros(100_000))
    assert client.submit(total, array).result() == 0.0


def test_what_cannot_be_pickled_fails_as_in_processes(client: Client) -> None:
    with pytest.raises(TypeError, match="pickle"):
        client.submit(threading.Lock).result()


def test_what_a_call_prints_is_shown_and_kept(
    client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    def inner() -> None:
        sys.stdout.write("inner\n")

    @remote()
    def talk(ctx: Any) -> bytes:
        sys.stdout.write("begin\n")
        get_client().submit(inner).result()
        sys.stderr.write("end\n")
        return b""

    client.show_output()  # as it is anyway
    with client.new_session("talk") as session:
        task = talk()
        session.submit()
        task.wait()
        assert task.logs() == "begin\n[stderr]\nend\n"
    assert capsys.readouterr() == ("begin\ninner\n", "end\n")


def test_a_future_is_unpickled_by_the_program_after_tasks_had_clients(client: Client) -> None:
    def nested() -> int:
        return get_client().submit(abs, -2).result()

    future = client.submit(nested)
    assert future.result() == 2
    data = pickle.dumps(future)
    assert pickle.loads(data) is future


def test_a_task_has_a_folder_of_its_own_and_the_program_gets_its_own_back(client: Client) -> None:
    before = Path.cwd()

    @remote()
    def write(ctx: Any) -> str:
        Path("left").write_text("")
        return str(Path.cwd())

    @remote()
    def listed(ctx: Any) -> str:
        return str(list(Path().iterdir()))

    with client.new_session("folders") as session:
        assert session.compute(write()).load() != str(before)
        assert session.compute(listed()).load() == "[]"
    assert Path.cwd() == before


def fib(n: int) -> int:
    if n < 2:
        return n
    one, other = get_client().map(fib, [n - 1, n - 2])
    return one.result() + other.result()


def test_calls_call_others_on_one_cpu_as_deep_as_they_like() -> None:
    def deeper(n: int) -> int:
        return get_client().submit(deeper, n - 1).result() + 1 if n else 0

    with Client(local=True, cpus=1) as client:
        assert client.submit(fib, 12).result() == 144
        assert client.submit(deeper, 50).result() == 50
        with pytest.raises(RainException, match="on one stack"):
            client.submit(deeper, 100).result()
        assert client.submit(abs, -1).result() == 1


def test_a_call_that_has_not_begun_is_cancelled(client: Client) -> None:
    first, second = client.map(note, [1, 2])
    assert first.cancel()
    assert second.result() == 2
    assert ran == [2]
    with pytest.raises(CancelledError):
        first.result()


def test_a_callback_comes_although_nobody_waits(client: Client) -> None:
    told = threading.Event()
    client.submit(note, 1).add_done_callback(lambda _: told.set())
    assert told.wait(30)
    assert ran == [1]


def test_a_client_that_asks_again_and_again_gets_an_answer(client: Client) -> None:
    future = client.submit(note, 1)
    while not future.done():
        pass
    assert ran == [1]
    with client.new_session("asking") as session:
        task = tasks.Concat((blob("a"), blob("b")))
        session.submit()
        while task.state is None or task.state.name != "finished":
            task.update()


def test_a_wait_with_a_timeout_looks_at_the_time_between_two_calls(client: Client) -> None:
    futures = client.map(time.sleep, [0.01] * 1000)
    with pytest.raises(TimeoutError):
        client.gather(futures, timeout=0.05)
    assert futures[0].done()
    assert not futures[-1].is_done()


def test_two_threads_that_wait_get_what_they_wait_for(client: Client) -> None:
    found: list[int] = []
    threads = [
        threading.Thread(target=lambda: found.append(client.submit(fib, 6).result()))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [8] * 4


def test_an_executor_runs_its_calls(client: Client) -> None:
    with client.executor(max_workers=1) as pool:
        assert list(pool.map(pow, [2, 3], [3, 2])) == [8, 9]
        last = pool.submit(note, 4)
    assert last.result() == 4
    with client.executor() as pool:
        done, _ = concurrent.futures.wait([pool.submit(note, 5)], 0)
        assert done == set()


def test_an_asynchronous_program_has_a_local_cluster() -> None:
    async def main() -> list[int]:
        async with AsyncClient(local=True) as client:
            futures = client.map(negated, [-1, -2])
            found = [await future async for future in client.as_completed(futures)]
            return [*found, await client.submit(pow, 2, 3)]

    assert asyncio.run(main()) == [1, 2, 8]


def test_external_programs_run_as_processes(client: Client) -> None:
    with client.new_session("programs") as session:
        echo = Program(["echo", "hello"], stdout=True)()
        session.keep_all()
        session.submit()
        assert echo.output.fetch().get_bytes() == b"hello\n"


def test_a_task_that_fits_nowhere_fails_at_once(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(TaskException, match=r"which the only governor does not have \(.*\)\n"):
        client.options(cpus=100).submit(abs, 1).result()
    assert caplog.records == []


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"address": "localhost"}, "leave address out"),
        ({"governors": 2}, "leave governors out"),
        ({"secret": "s", "insecure": True}, "leave secret and insecure out"),
        ({"server_timeout": 3.0}, "leave server_timeout out"),
        ({"cpus": 0}, "at least one cpu"),
    ],
)
def test_what_means_nothing_in_local_mode_is_refused_by_name(
    options: dict[str, Any], named: str
) -> None:
    with pytest.raises(RainException, match=named):
        Client(local=True, **options)


@pytest.mark.parametrize("tries", [2, 3])
def test_a_call_is_tried_again_as_in_processes(client: Client, tries: int) -> None:
    flaky = client.options(tries=tries, retry_on=OSError, backoff=5)
    with pytest.raises(OSError, match="busy"):
        flaky.submit(fails_with, OSError("busy")).result()
    assert len(ran) == tries
    with pytest.raises(ValueError, match="wrong") as caught:
        flaky.submit(fails_with, ValueError("wrong")).result()
    assert len(ran) == tries + 1
    assert "ValueError is not in retry_on (OSError)" in str(caught.value.__cause__)


def fails_with(error: Exception) -> None:
    ran.append(error)
    raise error


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    path = sys.path[:]
    with Client(local=True) as client:
        client.submit(fib, 3).result()
        assert list(tmp_path.iterdir())
    assert not list(tmp_path.iterdir())
    assert sys.path == path
    with pytest.raises(RainException, match="closed"):
        client.submit(abs, 1).result()
