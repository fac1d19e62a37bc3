"""Tasks that hand the rest on to other tasks instead of waiting, on real governors."""

from collections.abc import Iterator
from typing import Any

import pytest

from rain.client import (
    Client,
    RainException,
    get_client,
    remote,
    then,
)
from tests.support.modes import MODES, client_in

pytestmark = pytest.mark.whole


@pytest.fixture(scope="module", params=MODES)
def client(request: pytest.FixtureRequest) -> Iterator[Client]:
    with client_in(request.param, cpus=1) as made:
        yield made


def plain(number: int) -> int:
    return abs(number)


def countdown(n: int, seen: int = 0) -> int:
    return seen if not n else then(countdown, n - 1, seen + 1)


def test_a_loop_of_calls_that_hand_on_ends_on_a_single_cpu(client: Client) -> None:
    assert client.submit(countdown, 40).result() == 40


def raise_key_error(key: str) -> int:
    raise KeyError(key)


def hand_on_to_a_failure(key: str) -> int:
    return then(raise_key_error, key)


def test_a_task_that_hands_on_raises_what_the_other_task_raises(client: Client) -> None:
    future = client.submit(hand_on_to_a_failure, "lost")
    with pytest.raises(KeyError, match="lost"):
        future.result()
    assert future.status == "error"


def add(a: int, b: int) -> int:
    return a + b


def fib_without_waiting(n: int) -> int:
    if n < 2:
        return n
    return then(add, *get_client().map(fib_without_waiting, [n - 1, n - 2]))


def test_a_tree_of_calls_none_of_which_waits(client: Client) -> None:
    result = client.submit(fib_without_waiting, 6)
    assert client.submit(add, result, 1).result() == 9, "others may read what is handed on"


def zeros(size: int) -> bytes:
    return bytes(size)


def hand_on_to_a_future(size: int) -> bytes:
    return then(get_client().submit(zeros, size))


def test_a_task_may_hand_on_to_a_future_of_any_size(client: Client) -> None:
    assert client.submit(hand_on_to_a_future, 1_000_000).result() == bytes(1_000_000)


@remote(auto_encode="pickle")
def climb(ctx: Any, n: int) -> Any:
    return ctx.then(climb, n - 1) if n else "up"


def test_a_function_with_a_context_hands_on_by_it(client: Client) -> None:
    with client.new_session() as session:
        task = climb(3)
        assert session.compute(task).load() == "up"


def hand_on_inside(n: int) -> list[int]:
    return [then(plain, n)]


def test_what_hands_on_is_returned_alone_and_by_a_task(client: Client) -> None:
    with pytest.raises(RainException, match="return it alone"):
        client.submit(hand_on_inside, 1).result()
    with pytest.raises(RainException, match="functions that run as tasks"):
        then(plain, 1)
