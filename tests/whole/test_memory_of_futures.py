"""What a long program leaves behind: cancelled and dropped futures, changing functions, executors.

Objects are counted, not bytes; `docs/reliability.md` has figures of longer runs.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable
from functools import partial

import pytest

from rain.client import Client
from rain.client.futures import called
from tests.support.waiting import until_now

pytestmark = pytest.mark.whole

FUNCTIONS = 10
"""As many functions are remembered here; more are called in each round."""

FIRST, MORE = 3, 20
"""Rounds. Fewer objects than rounds may be there by chance, of the last one."""


def inc(number: int) -> int:
    return number + 1


def cancelled(client: Client) -> None:
    for future in client.map(inc, range(50)):
        future.cancel()


def dropped(client: Client) -> None:
    client.map(inc, range(500))


def changing(client: Client) -> None:
    """A cell of a notebook that is changed, and called again."""
    for number in range(FUNCTIONS + 2):

        def function(first: int, second: int = number) -> int:
            return first + second

        assert client.submit(function, 1).result() == 1 + number


def executors(client: Client) -> None:
    for _ in range(3):
        with client.executor() as executor:
            assert executor.submit(inc, 1).result() == 2


def here() -> Counter[str]:
    """The objects of Rain in this process, by their classes."""
    gc.collect()
    classes = map(type, gc.get_objects())
    return Counter(one.__name__ for one in classes if str(one.__module__).startswith("rain."))


def held(client: Client) -> int:
    """Objects on the governors."""
    return sum(len(governor["objects"]) for governor in client.get_server_info()["governors"])


def is_flat(client: Client, one_round: Callable[[Client], None]) -> bool:
    """Whether many rounds leave less than one object each, of any class, here and there."""
    for _ in range(FIRST):
        one_round(client)
    assert client.submit(inc, 1).result() == 2
    early, held_early = here(), held(client)
    for _ in range(MORE):
        one_round(client)
    assert client.submit(inc, 1).result() == 2
    late = here() - early
    return max([*late.values(), held(client) - held_early]) < MORE


def test_many_rounds_leave_what_a_few_have_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(called, "FUNCTIONS_REMEMBERED", FUNCTIONS)
    with Client(cpus=2) as client:
        for one_round in (cancelled, dropped, changing, executors):
            # News of the last round may still be on its way: then there are more rounds.
            assert until_now(partial(is_flat, client, one_round))
