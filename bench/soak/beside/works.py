"""Work with known answers that Rain, Dask and Ray can all express."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Protocol

from bench.soak.steps import digest, joined, pattern, step, total

KIBIBYTE = 1024


class Caller(Protocol):
    """A client of any of the systems."""

    def submit(self, function: Callable[..., object], *arguments: object) -> object:
        """Calls a function with values and with what other calls will return."""

    def result(self, call: Any) -> object:
        """Waits for what a call returns."""


Work = Callable[[Caller, Random], tuple[object, object]]
"""Runs some calls; what came back, and what is right."""


def right_step(value: int, number: int) -> int:
    """What `step` returns, without its sleep."""
    return (value * 31 + number) % 1_000_003


def independent(caller: Caller, random: Random) -> tuple[object, object]:
    """Calls that need nothing of each other."""
    count, start = random.randint(20, 100), random.randrange(1000)
    calls = [caller.submit(step, number, start) for number in range(count)]
    found = [caller.result(call) for call in calls]
    return found, [right_step(number, start) for number in range(count)]


def chain(caller: Caller, random: Random) -> tuple[object, object]:
    """Calls in a row, each of which needs the one before."""
    value = random.randrange(1000)
    last: object = value
    for number in range(random.randint(5, 30)):
        last = caller.submit(step, last, number)
        value = right_step(value, number)
    return caller.result(last), value


def tree(caller: Caller, random: Random) -> tuple[object, object]:
    """A tree of sums."""
    start = random.randrange(1000)
    numbers = range(2 ** random.randint(3, 6))
    calls = [caller.submit(step, number, start) for number in numbers]
    while len(calls) > 1:
        pairs = zip(calls[::2], calls[1::2], strict=True)
        calls = [caller.submit(total, left, right) for left, right in pairs]
    return caller.result(calls[0]), sum(right_step(number, start) for number in numbers)


def reduction(caller: Caller, random: Random) -> tuple[object, object]:
    """Some megabytes that are made in parts, joined in pairs, and made one small value."""
    size, numbers = random.randint(500, 2000) * KIBIBYTE, random.sample(range(1000), 4)
    parts = [caller.submit(pattern, number, size) for number in numbers]
    halves = [caller.submit(joined, *parts[:2]), caller.submit(joined, *parts[2:])]
    whole = caller.submit(digest, caller.submit(joined, *halves))
    return caller.result(whole), digest(joined(*(pattern(number, size) for number in numbers)))


WORKS: dict[str, Work] = {
    "independent": independent,
    "chain": chain,
    "tree": tree,
    "reduction": reduction,
}
"""All kinds of work by name."""
