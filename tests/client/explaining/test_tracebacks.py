"""What a user sees of a failure: the lines of their program, and then the error."""

import asyncio
import pickle
import re
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rain.client import (
    AsyncClient,
    Client,
    ConnectionException,
    TaskException,
    TaskTimeout,
    as_completed,
    remote,
)

pytestmark = pytest.mark.whole


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with Client(cpus=1) as made:
        yield made


def divide(a: int, b: int) -> float:
    return a / b


@remote()
def divide_in_session(ctx: object, a: int, b: int) -> str:
    return str(a / b)


def result(client: Client) -> object:
    return client.submit(divide, 1, 0).result()


def gather(client: Client) -> object:
    return client.gather(client.map(divide, [1, 1], [1, 0]))


def get(client: Client) -> object:
    return client.get([client.submit(divide, 1, 0)])


def a_call_of_dask(client: Client) -> object:
    dask = pytest.importorskip("dask")
    return dask.delayed(divide)(1, 0).compute(scheduler=client.dask)


def compute(client: Client) -> object:
    with client.new_session("computes") as session:
        return session.compute(divide_in_session(1, 0))


def wait_all(client: Client) -> None:
    with client.new_session("waits") as session:
        divide_in_session(1, 0)
        session.submit()
        session.wait_all()


def fetch(client: Client) -> object:
    with client.new_session("fetches") as session:
        output = divide_in_session(1, 0).output
        output.keep()
        session.submit()
        return output.fetch()


def awaited(client: Client) -> object:
    async def main() -> float:
        return await client.submit(divide, 1, 0)

    return asyncio.run(main())


def gathered_in_asyncio(client: Client) -> object:
    async def main() -> Any:
        async with AsyncClient(local=True) as here:
            return await here.gather([here.submit(divide, 1, 0)])

    return asyncio.run(main())


def from_an_executor(client: Client) -> object:
    with client.executor() as pool:
        return list(pool.map(divide, [1], [0], chunksize=2))


def own_and_foreign(error: BaseException) -> tuple[list[str], list[str]]:
    """The modules of a traceback: those up to the last of this file, and what follows it."""
    frames = [frame.f_globals["__name__"] for frame, _ in traceback.walk_tb(error.__traceback__)]
    last = max(place for place, name in enumerate(frames) if name == __name__)
    return frames[: last + 1], frames[last + 1 :]


@pytest.mark.parametrize(
    "failing",
    [
        result,
        gather,
        get,
        from_an_executor,
        compute,
        wait_all,
        fetch,
        awaited,
        gathered_in_asyncio,
    ],
)
def test_a_failed_call_shows_no_function_of_ours(
    client: Client, failing: Callable[[Client], object]
) -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        failing(client)
    _, foreign = own_and_foreign(caught.value)
    assert foreign == []


def test_a_graph_of_dask_that_fails_ends_with_the_frames_of_dask(client: Client) -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        a_call_of_dask(client)
    _, foreign = own_and_foreign(caught.value)
    assert not [name for name in foreign if name.startswith("rain.")]


def test_a_failure_that_is_raised_again_shows_only_the_last_line_that_asked(
    client: Client,
) -> None:
    future = client.submit(divide, 1, 0)
    with pytest.raises(ZeroDivisionError):
        future.result()
    with pytest.raises(ZeroDivisionError) as caught:
        future.result()
    assert len(list(traceback.walk_tb(caught.value.__traceback__))) == 1


def test_in_local_mode_the_lines_of_the_task_follow_those_of_the_program() -> None:
    with Client(local=True) as client, pytest.raises(ZeroDivisionError) as caught:
        client.submit(divide, 1, 0).result()
    own = [frame.f_code.co_name for frame, _ in traceback.walk_tb(caught.value.__traceback__)]
    assert own[-1] == "divide"
    assert len(own) == 2


def test_a_wait_that_takes_too_long_shows_no_function_of_ours(client: Client) -> None:
    future = client.submit(lambda: threading.Event().wait())
    for wait in (lambda: future.result(timeout=0), lambda: next(as_completed([future], 0))):
        with pytest.raises(TimeoutError) as caught:
            wait()
        assert own_and_foreign(caught.value)[1] == []
    future.cancel()


def test_a_server_that_is_not_there_shows_no_function_of_ours() -> None:
    with pytest.raises(ConnectionException) as caught:
        Client("127.0.0.1", 1)
    assert own_and_foreign(caught.value)[1] == []


def test_an_error_that_rain_does_not_raise_on_purpose_keeps_its_frames(client: Client) -> None:
    def breaks() -> Iterator[Any]:
        raise LookupError("in the iterable of the user")
        yield

    with pytest.raises(LookupError) as caught:
        client.gather(client.map(divide, breaks(), [1]))
    assert "rain.client.futures.submitting" in [
        frame.f_globals["__name__"] for frame, _ in traceback.walk_tb(caught.value.__traceback__)
    ]


def test_the_remote_traceback_has_no_function_of_ours(client: Client) -> None:
    def message(future: Any) -> str:
        error = future.exception()
        told = error if isinstance(error, TaskException) else error.__cause__
        assert isinstance(told, TaskException)
        return told.error

    assert message(client.submit(sys.exit, 3)) == "SystemExit: 3\n"
    assert message(client.submit(int, "one")).startswith("ValueError: invalid literal")
    assert "rain" not in message(client.submit(divide, 1, 0)).replace(__file__, "")
    slow = client.options(timeout=0.1).submit(time.sleep, 600)
    assert isinstance(slow.exception(), TaskTimeout)
    assert message(slow).splitlines()[1:] == ["KeyboardInterrupt"]


class WithALock(Exception):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.lock = threading.Lock()


def test_an_exception_that_cannot_be_sent_as_a_whole_is_of_its_class_and_says_why(
    client: Client,
) -> None:
    def fails() -> None:
        raise WithALock("broken")

    def fails_at_length() -> None:
        raise ValueError("x" * 100_000)

    with pytest.raises(WithALock, match=r"^broken$") as caught:
        client.submit(fails).result()
    assert re.search(r"cannot be sent: TypeError: .*lock", str(caught.value.__cause__))
    with pytest.raises(ValueError, match=r"^x{2000}$") as cut:
        client.submit(fails_at_length).result()
    assert re.search(r"its pickle has 100,\d+ bytes, .*65,536", str(cut.value.__cause__))


def test_files_that_are_emptied_with_the_folder_of_the_task_are_named_in_its_output(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "gone"  # a folder of the program that the governor does not have
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()

    def save(count: int) -> None:
        for number in range(count):
            Path(f"figure-{number}.png").touch()

    future = client.submit(save, 5)
    future.result()
    assert future.task is not None
    told = future.task.logs()
    assert "has left 'figure-0.png', 'figure-1.png', 'figure-2.png' and 2 more" in told
    assert "absolute paths" in told


def test_something_of_the_script_that_a_task_has_under_no_name_says_so(
    client: Client,
) -> None:
    def fails() -> None:
        raise pickle.PicklingError("Can't pickle f: attribute lookup f on __main__ failed")

    error = client.submit(fails).exception()
    assert isinstance(error, pickle.PicklingError)
    assert "put that into a module beside the script" in str(error.__cause__)
