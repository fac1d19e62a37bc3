"""What type checkers know of futures. mypy and pyright read this file; running it proves little."""

from collections.abc import Callable
from typing import Any, assert_type

from rain.client import Client, Future, as_completed, task


def half(x: int, *, twice: bool = False) -> float:
    return x if twice else x / 2


@task(tries=2)
def shout(text: str) -> str:
    return text.upper()


@task
def whisper(text: str) -> bytes:
    return text.lower().encode()


def calls(client: Client) -> None:
    future = client.submit(half, 1, twice=True)
    assert_type(future, Future[float])
    assert_type(future.result(), float)
    assert_type(client.submit(shout, "a"), Future[str])
    assert_type(shout("a"), str)
    assert_type(client.submit(whisper, "a"), Future[bytes])
    assert_type(client.map(half, [1, 2]), list[Future[float]])
    assert_type(client.put([1]), Future[list[int]])
    assert_type(client.get(future), float)
    assert_type(client.gather([future]), list[float])
    assert_type(client.gather({"one": future}, errors="skip"), dict[str, float])
    assert_type(client.options(cpus=2).submit(half, 1), Future[float])
    assert_type(client.submit(half, future), Future[float])
    for done in as_completed(client.map(shout, "ab")):
        assert_type(done, Future[str])


def mistakes(client: Client) -> None:
    client.submit(half, "1")  # type: ignore[call-overload] # pyright: ignore[reportCallIssue, reportArgumentType]
    client.submit(half, 1, thrice=True)  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]
    shout(1)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]


async def awaited(client: Client) -> None:
    assert_type(await client.submit(half, 1), float)


def test_checkers_have_read_all_of_it() -> None:
    read: list[Callable[..., Any]] = [calls, mistakes, awaited]
    assert all(map(callable, read))
