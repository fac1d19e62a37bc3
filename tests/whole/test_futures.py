"""Futures with a real server, governors and executors: what people write in their first hour."""

# What users write has lambdas, which cannot say their types:
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false

import asyncio
import concurrent.futures
import functools
import gc
import math
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from traceback import format_exception
from typing import Any, NamedTuple

import numpy as np
import pytest
import trio

from rain.client import (
    CancelledError,
    Client,
    Future,
    TaskException,
    as_completed,
    get_client,
    remote,
    task,
)
from rain.common import ID
from tests.support.modes import MODES, client_in, in_processes
from tests.support.waiting import until_now

pytestmark = pytest.mark.whole


@pytest.fixture(scope="module", params=MODES)
def client(request: pytest.FixtureRequest) -> Iterator[Client]:
    with client_in(request.param, cpus=2, governors=2) as made:
        yield made


def add(a: int, b: int = 0) -> int:
    return a + b


def everything(*args: Any, **words: Any) -> tuple[Any, ...]:
    return args, words


class Point(NamedTuple):
    x: int
    y: int


class Counter:
    """A class with state, whose methods are called on the cluster."""

    def __init__(self, start: int) -> None:
        self.start = start

    def plus(self, more: int) -> int:
        return self.start + more

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Counter) and other.start == self.start

    __hash__ = None  # type: ignore[assignment] # pyright: ignore[reportAssignmentType] # no key


class OwnError(Exception):
    """Its `__init__` takes other arguments than it passes on."""

    def __init__(self, code: int, where: str) -> None:
        super().__init__(f"{code} in {where}")
        self.code = code


def fail_with(kind: type[Exception], *args: Any) -> None:
    raise kind(*args)


def leave(code: int) -> None:
    os._exit(code)


def total(futures: "list[concurrent.futures.Future[int]]") -> int:
    return sum(future.result() for future in futures)


def sleep_until_killed(started: str) -> None:
    Path(started).touch()
    signal.pause()


def test_anything_that_can_be_called_is_called_with_what_it_takes(client: Client) -> None:
    factor = 3
    counter = Counter(10)
    calls: list[tuple[Future[Any], Any]] = [
        (client.submit(add, 1), 1),
        (client.submit(add, 1, b=2), 3),
        (client.submit(lambda x: factor * x, 4), 12),
        (client.submit(counter.plus, 5), 15),
        (client.submit(functools.partial(add, b=7), 1), 8),
        (client.submit(math.sqrt, 16), 4.0),
        (client.submit(Point, 1, y=2), Point(1, 2)),
        (client.submit(Counter, 3), Counter(3)),
        (client.submit(sum, [1, 2, 3]), 6),
        (client.submit(lambda: None), None),
        (client.submit(lambda: b"bytes"), b"bytes"),
        (client.submit(everything, 1, k=2), ((1,), {"k": 2})),
    ]
    for future, wanted in calls:
        assert future.result() == wanted
        assert type(future.result()) is type(wanted)


def test_a_method_is_called_with_the_object_as_it_is_at_the_call(client: Client) -> None:
    counter = Counter(1)
    first = client.submit(counter.plus, 0)
    counter.start = 2
    assert [first.result(), client.submit(counter.plus, 0).result()] == [1, 2]


def test_results_pass_from_call_to_call(client: Client) -> None:
    a = client.submit(add, 1)
    b = client.submit(add, a, b=a)
    assert client.submit(add, b, a).result() == 3
    assert client.submit(total, [a, b]).result() == 3
    assert a.result() is a.result()


def test_each_call_of_a_map_gets_its_keywords(client: Client) -> None:
    b = client.submit(add, 1)
    assert client.gather(client.map(add, [1, 2], b=5)) == [6, 7]
    assert client.gather(client.map(add, [1, 2], b=b)) == [2, 3]


def test_large_arguments_and_results_are_what_they_were(client: Client) -> None:
    data = np.arange(1_000_000)
    assert client.submit(np.sum, data).result() == data.sum()
    stored = client.put(data)
    assert client.gather([client.submit(lambda x, i: int(x[i]), stored, i) for i in (0, 7)]) == [
        0,
        7,
    ]
    back = client.submit(lambda x: x * 2, stored).result()
    assert np.array_equal(back, data * 2)
    assert np.array_equal(stored.result(), data)


def test_a_call_works_in_the_folder_where_the_program_works(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def copy(name: str) -> None:
        Path(name).write_text(Path("given").read_text() * 2)

    def copy_from_inside(name: str) -> None:
        get_client().submit(copy, name).result()

    for folder in (tmp_path / "first", tmp_path / "second"):
        folder.mkdir()
        monkeypatch.chdir(folder)
        (folder / "given").write_text(folder.name)
        client.gather([client.submit(copy, "made"), client.submit(copy_from_inside, "inner")])
        assert (folder / "made").read_text() == folder.name * 2
        assert (folder / "inner").read_text() == folder.name * 2


@in_processes
def test_a_call_has_an_empty_folder_where_that_of_the_program_does_not_exist(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def leave() -> list[str]:
        found = os.listdir()  # noqa: PTH208 # names
        Path("left").touch()
        return found

    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    assert client.gather([client.submit(leave) for _ in range(4)]) == [[]] * 4


def test_what_a_function_raises_is_raised_here(client: Client) -> None:
    with pytest.raises(KeyError, match="nope") as raised:
        client.submit(fail_with, KeyError, "nope").result()
    assert isinstance(raised.value.__cause__, TaskException)
    assert "in fail_with" in str(raised.value.__cause__)

    with pytest.raises(OwnError, match="3 in here") as own:
        client.submit(fail_with, OwnError, 3, "here").result()
    assert own.value.code == 3

    failed = client.submit(fail_with, ValueError, "first")
    with pytest.raises(ValueError, match="first"):
        client.submit(add, client.submit(add, failed)).result()
    assert isinstance(failed.exception(), ValueError)


def test_a_future_in_a_list_stays_one_and_an_error_says_so(client: Client) -> None:
    sums: Any = sum
    with pytest.raises(TypeError) as raised:
        client.submit(sums, client.map(add, [1, 2])).result()
    assert "stay futures: read them with result()" in "".join(format_exception(raised.value))


def test_a_session_raises_a_task_exception_of_the_functions_class(client: Client) -> None:
    @remote()
    def bad(ctx: Any) -> bytes:
        raise LookupError("where")

    with client.new_session("classes", on_failure="continue") as session:
        failed = bad()
        session.submit()
        with pytest.raises(LookupError) as raised:
            failed.wait()
    assert isinstance(raised.value, TaskException)
    assert "LookupError: where" in str(raised.value)
    assert repr(raised.value.__cause__) == "LookupError('where')"


@in_processes
def test_a_process_that_dies_fails_its_call_only(client: Client) -> None:
    good = client.submit(add, 1)
    with pytest.raises(TaskException, match="exit code 4"):
        client.submit(leave, 4).result()
    assert good.result() == 1


def test_options_of_calls_and_of_functions(client: Client, tmp_path: Path) -> None:
    ran = tmp_path / "ran"

    def fail_once() -> int:
        if ran.exists():
            return 1
        ran.touch()
        raise OSError("not yet")

    assert client.options(tries=2, name="again").submit(fail_once).result() == 1

    ran.unlink()
    stubborn = task(tries=2)(fail_once)
    assert client.submit(stubborn).result() == 1
    assert stubborn() == 1  # called here, as ever

    future = client.options(name="named", cpus=2, memory="1MiB").submit(add, 1)
    assert future.name == "named"
    assert future.result() == 1


def test_a_remote_function_is_called_with_its_context(client: Client) -> None:
    @remote(auto_load=True, auto_encode="pickle")
    def named(ctx: Any, x: int) -> tuple[str, int]:
        return ctx.spec.name, x

    assert client.submit(named, client.submit(add, 4)).result() == ("named", 4)


@in_processes
def test_as_completed_gives_the_quick_ones_first(client: Client) -> None:
    gate = threading.Event()
    slow: Future[Any] = client.submit(sleep_until_killed, "/dev/null")
    quick: list[Future[Any]] = [*client.map(add, range(3))]
    found = as_completed([slow, *quick], timeout=60)
    assert {next(found) for _ in quick} == set(quick)
    done, others = client.wait([slow, *quick], num_returns=3)
    assert (set(done), others) == (set(quick), [slow])
    slow.add_done_callback(lambda _: gate.set())
    assert slow.cancel()
    assert next(found) is slow
    assert gate.wait(10)


def test_the_standard_library_takes_them_for_its_own(client: Client) -> None:
    futures = client.map(add, range(3))
    done, pending = concurrent.futures.wait(futures, timeout=60)
    assert (done, pending) == (set(futures), set())

    async def wrapped() -> int:
        return await asyncio.wrap_future(client.submit(add, 5))

    assert asyncio.run(wrapped()) == 5


def test_futures_can_be_awaited_in_asyncio_and_in_trio(client: Client) -> None:
    async def three() -> list[int]:
        return [await future for future in client.map(add, range(3))]

    async def together() -> list[int]:
        return await asyncio.gather(*client.map(add, range(3)))

    assert asyncio.run(three()) == [0, 1, 2]
    assert asyncio.run(together()) == [0, 1, 2]
    assert trio.run(three) == [0, 1, 2]


async def _in_asyncio(future: Future[None]) -> None:
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(_awaited(future), 0.01)


async def _in_trio(future: Future[None]) -> None:
    with trio.move_on_after(0.01):
        await future


async def _awaited(future: Future[None]) -> None:
    await future


@in_processes
@pytest.mark.parametrize("loop", ["asyncio", "trio"])
def test_to_cancel_a_wait_cancels_the_call(client: Client, loop: str, tmp_path: Path) -> None:
    future = client.submit(sleep_until_killed, str(tmp_path / "started"))
    if loop == "asyncio":
        asyncio.run(_in_asyncio(future))
    else:
        trio.run(_in_trio, future)
    assert future.cancelled()


@in_processes
def test_a_cancelled_call_frees_its_cpu_and_takes_its_readers_along(client: Client) -> None:
    slow = client.options(cpus=2).submit(sleep_until_killed, "/dev/null")
    other = client.options(cpus=2).submit(sleep_until_killed, "/dev/null")
    reader = client.submit(lambda x: x, slow)
    assert slow.cancel()
    assert other.cancel()
    with pytest.raises(CancelledError):
        reader.result(60)
    assert client.options(cpus=2).submit(add, 1).result(60) == 1
    assert not client.submit(add, 1).cancelled()


def test_results_of_dropped_futures_leave_the_cluster(client: Client) -> None:
    def held() -> set[ID]:
        governors = client.get_server_info()["governors"]
        return {number for one in governors for number in one["objects"]}

    futures = client.map(lambda i: np.full(100_000, i), range(20))
    client.wait(futures)
    results = {future.handle.id for future in futures}
    assert results <= held()
    del futures
    gc.collect()
    until_now(lambda: not results & held())


def test_a_script_with_a_module_beside_it_and_a_class_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("def double(x):\n    return 2 * x\n")
    script = tmp_path / "script.py"
    script.write_text(
        dedent(
            """
            from helper import double
            from rain.client import Client

            class Own:
                def __init__(self, x):
                    self.x = x

            def make(x):
                return Own(double(x))

            if __name__ == "__main__":
                with Client(cpus=1) as client:
                    made = client.submit(make, 4).result()
                    assert type(made) is Own, type(made)
                    print(made.x, client.submit(double, 5).result())
            """
        )
    )
    ran = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=60, check=False
    )
    assert (ran.stdout, ran.stderr) == ("8 10\n", "")


def test_ctrl_c_ends_a_script_and_what_it_waits_for(tmp_path: Path) -> None:
    started = tmp_path / "started"
    script = tmp_path / "script.py"
    script.write_text(
        dedent(
            f"""
            import signal, threading, os, time
            from pathlib import Path
            from rain.client import Client

            def hang(path):
                Path(path).write_text(str(os.getpid()))
                time.sleep(600)

            with Client(cpus=1) as client:
                future = client.submit(hang, {str(started)!r})
                print("waits", flush=True)
                try:
                    future.result()
                except KeyboardInterrupt:
                    print(future.status, client.submit(abs, -1).result())
            """
        )
    )
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True) as ran:
        assert ran.stdout is not None
        assert ran.stdout.readline() == "waits\n"
        while not (started.exists() and started.read_text()):
            threading.Event().wait(0.01)
        ran.send_signal(signal.SIGINT)
        assert ran.stdout.read() == "cancelled 1\n"
    assert ran.returncode == 0


def test_urgent_calls_start_before_those_that_wait(tmp_path: Path) -> None:
    # given: one cpu that is taken until all have been submitted, and more long calls than it needs
    gate, order = tmp_path / "gate", tmp_path / "order"

    def wait() -> None:
        while not gate.exists():
            threading.Event().wait(0.01)

    def note(name: str) -> None:
        with order.open("a") as file:
            file.write(name)
        threading.Event().wait(0.05)

    with Client(cpus=1) as own:
        first = own.submit(wait)
        low = own.options(priority=-1).map(note, "l" * 3)
        plain = own.map(note, "p" * 3)
        urgent = own.options(priority=2).map(note, "u" * 3)
        gate.touch()
        own.gather([first, *low, *plain, *urgent])
    assert order.read_text() == "uuuppplll"
