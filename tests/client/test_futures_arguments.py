"""What calls bring along: futures, large arguments and functions. There is no server."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import trio

from rain.base.errors import RefusedError
from rain.client.async_client import AsCompleted
from rain.common.errors import RainException
from rain.common.pickles import MAGIC, load
from tests.client.futures_server import Server, add, server
from tests.support.waiting import until_now

__all__ = ["server"]  # a fixture


def test_map_takes_no_keyword_that_the_function_does_not_know(server: Server) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'c'"):
        server.client.map(add, [1, 2], c=5)


def test_a_large_value_that_the_server_cannot_store_is_refused_where_it_is_put(
    server: Server,
) -> None:
    server.connection.errors["submit"] = RefusedError("no space left")
    with pytest.raises(RainException, match="no space left"):
        server.client.put(bytes(1_000_000))
    del server.connection.errors["submit"]

    (good,) = server.client.map(add, [1])

    assert len(server.submission.constants.ids) == 1, "only the function"
    assert not good.done()


def test_a_future_as_an_argument_is_an_input_of_the_call(server: Server) -> None:
    first = server.client.submit(add, 1)
    server.client.submit(add, first, b=first)
    server.client.map(add, [])

    one, _ = server.outputs()
    tasks = server.submission.tasks
    assert list(tasks.input_counts) == [1, 3]  # the function, and the future twice
    assert list(tasks.inputs).count(one) == 2


def test_a_large_argument_is_uploaded_once_for_equal_ones(server: Server) -> None:
    data = bytes(1_000_000)
    futures = server.client.map(add, [data, data, bytearray(data)])

    sizes = sorted(map(len, server.submission.constants.data))
    assert len(sizes) == 3  # the function, the bytes and the bytearray
    assert len(futures) == 3
    assert max(map(len, server.submission.tasks.configs)) < 1000


class Counted:
    """Counts how often it is pickled."""

    def __init__(self, data: Any) -> None:
        self.data = data
        self.count = 0

    def __reduce__(self) -> tuple[Any, ...]:
        self.count += 1
        return list, ([self.data],)


def test_a_large_argument_of_any_class_is_pickled_once_and_can_be_mapped(server: Server) -> None:
    plain, buffered = Counted(bytes(1_000_000)), Counted(np.zeros(200_000))
    values: list[Any] = [plain, [buffered, {1: buffered.data}]]
    server.client.map(add, values)

    assert (plain.count, buffered.count) == (1, 1)
    *_, first, second = sorted(server.submission.constants.data, key=len)
    assert load(first) == [bytes(1_000_000)]
    assert first[-8:] != MAGIC
    assert second[-8:] == MAGIC
    assert load(second)[0][0].shape == (200_000,)


@pytest.mark.parametrize("size", [20_000, 1_000_000])
def test_a_large_keyword_of_a_map_is_sent_once(server: Server, size: int) -> None:
    table = Counted(bytes(size))
    server.client.map(add, range(5), b=table)

    assert table.count == 2, "to see its size, and to send it"
    assert max(map(len, server.submission.tasks.configs)) < 1000


def run_in_asyncio(main: Callable[[], Any]) -> Any:
    return asyncio.run(main())


@pytest.mark.parametrize("run", [run_in_asyncio, trio.run], ids=["asyncio", "trio"])
def test_a_loop_goes_on_while_large_arguments_are_uploaded(run: Callable[[Any], Any]) -> None:
    server = Server()
    threads: list[int] = []
    server.connection.on_submit = lambda: threads.append(threading.get_ident())

    def answer() -> None:
        until_now(lambda: server.told == 2 and bool(server.connection.followed))
        server.news([(one, 3) for one in server.outputs()])

    async def main() -> list[Any]:
        called = server.client.submit(len, bytes(1_000_000))
        (mapped,) = server.client.map(len, [bytes(2_000_000)])
        completed = AsCompleted([called, mapped])
        answering = threading.Thread(target=answer)
        answering.start()
        return [await called, await mapped, len([one async for one in completed])]

    assert run(main) == [3, 3, 2]
    assert threading.get_ident() not in threads
    server.client.close()


@pytest.mark.parametrize("run", [run_in_asyncio, trio.run], ids=["asyncio", "trio"])
def test_a_cancellation_in_a_loop_does_not_wait_for_an_upload(run: Callable[[Any], Any]) -> None:
    server = Server()
    uploading, go_on = threading.Event(), threading.Event()

    def upload() -> None:
        uploading.set()
        assert go_on.wait(30)

    server.connection.on_submit = upload
    cancelled: list[list[int]] = []

    async def main() -> None:
        future = server.client.submit(len, bytes(1_000_000))
        uploading.wait(30)  # in the thread that sends; this loop does nothing meanwhile
        assert future.cancel()
        assert server.connection.cancelled == []
        cancelled.append([future.handle.packed_id])

    run(main)
    go_on.set()
    until_now(lambda: bool(server.connection.cancelled))
    assert [objects for _, objects, _ in server.connection.cancelled] == cancelled
    server.client.close()


def test_an_argument_of_another_cluster_is_refused_at_the_call(server: Server) -> None:
    other = Server()
    foreign = other.client.submit(add, 1)
    with pytest.raises(RainException, match="belongs to another cluster"):
        server.client.submit(add, foreign)
    other.client.close()


@pytest.mark.parametrize(
    ("args", "keywords"), [((), {}), ((1, 2, 3), {}), ((1,), {"c": 2}), ((1,), {"a": 2})]
)
def test_wrong_arguments_raise_at_the_call(
    server: Server, args: tuple[int, ...], keywords: dict[str, int]
) -> None:
    submit: Any = server.client.submit
    with pytest.raises(TypeError, match=r"add\(\)"):
        submit(add, *args, **keywords)
    assert server.told == 0


def test_what_cannot_be_called_is_refused(server: Server) -> None:
    submit: Any = server.client.submit
    with pytest.raises(TypeError, match="cannot be called"):
        submit(3)


def test_an_async_function_is_refused_by_name(server: Server) -> None:
    async def fetch() -> None:
        pass

    with pytest.raises(TypeError, match=r"fetch is an async function.*asyncio\.run"):
        server.client.submit(fetch)
    assert server.told == 0
