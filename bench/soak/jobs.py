"""What the clients of a soak run: random work whose answer is known without the cluster.

A job draws its shape from a generator of random numbers, runs on a client, and gives what came
back and what should have come back.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from random import Random
from typing import Any

from bench.soak.steps import digest, joined, pattern, step
from rain.client import Client, blob, get_client, pickled, remote, tasks

Job = Callable[[Client, Random], tuple[object, object]]
"""Runs some work; what came back, and what is right."""

KIBIBYTE = 1024

PROGRAM_TRIES = 50
"""A program may be killed itself, like any process below a governor. That is its own failure, and
not that of an executor."""


def tree(depth: int, number: int) -> int:
    """A task that waits for tasks of its own."""
    if not depth:
        return step(number, depth)
    parts = get_client().map(tree, [depth - 1] * 2, [number * 2, number * 2 + 1])
    return sum(part.result() for part in parts)


def tree_alone(depth: int, number: int) -> int:
    """The same without any cluster."""
    if not depth:
        return (number * 31 + depth) % 1_000_003
    return tree_alone(depth - 1, number * 2) + tree_alone(depth - 1, number * 2 + 1)


def chain(client: Client, random: Random) -> tuple[object, object]:
    """Futures in a row, each of which needs the one before."""
    value = random.randrange(1000)
    future: Any = value
    for number in range(random.randint(2, 40)):
        future = client.submit(step, future, number)
        value = (value * 31 + number) % 1_000_003
    return future.result(), value


def fan(client: Client, random: Random) -> tuple[object, object]:
    """Many independent calls, and one that needs all of them."""
    count, start = random.randint(2, 300), random.randrange(1000)
    parts = client.map(step, range(count), [start] * count)
    everything = client.submit(lambda *values: sum(values), *parts)
    right = [(value * 31 + start) % 1_000_003 for value in range(count)]
    return [client.gather(parts), everything.result()], [right, sum(right)]


def nested(client: Client, random: Random) -> tuple[object, object]:
    """A recursion in which tasks wait for tasks."""
    depth, number = random.randint(1, 3), random.randrange(1000)
    return client.submit(tree, depth, number).result(), tree_alone(depth, number)


def large_constants(client: Client, random: Random) -> tuple[object, object]:
    """Arguments that are uploaded, and results that are small."""
    sizes = [random.randint(1, 3000) * KIBIBYTE for _ in range(random.randint(1, 4))]
    data = [pattern(random.randrange(1000), size) for size in sizes]
    return client.gather(client.map(digest, data)), [digest(part) for part in data]


def large_results(client: Client, random: Random) -> tuple[object, object]:
    """Results that governors hold and hand on, and that come to the client at the end."""
    size, numbers = random.randint(1, 2000) * KIBIBYTE, random.sample(range(1000), 3)
    parts = [client.submit(pattern, number, size) for number in numbers]
    whole = client.submit(joined, *parts)
    right = b"".join(pattern(number, size) for number in numbers)
    return digest(whole.result()), digest(right)


@remote(auto_load=True, auto_encode="pickle")
def linked(ctx: object, value: int, number: int) -> int:
    """A link in a graph of a session."""
    return step(value, number)


def session_with_keeps(client: Client, random: Random) -> tuple[object, object]:
    """A session that is submitted in parts; each part needs what was kept of the one before."""
    value = random.randrange(1000)
    with client.new_session("soak") as session:
        last: Any = pickled(value)
        kept: list[Any] = []
        for number in range(random.randint(1, 4)):
            last = linked(last, number)
            last.output.keep()
            kept.append(last)
            session.submit()
        session.wait_all()
        found = [data.load() for data in session.fetch_all(task.output for task in kept)]
    right: list[int] = []
    for number in range(len(kept)):
        value = (value * 31 + number) % 1_000_003
        right.append(value)
    return found, right


def programs(client: Client, random: Random) -> tuple[object, object]:
    """External programs that read constants and each other's output."""
    lines = sorted(str(random.randrange(10**6)) for _ in range(random.randint(1, 30_000)))
    shuffled = random.sample(lines, len(lines))
    with client.new_session("soak of programs") as session:
        text = blob("".join(f"{line}\n" for line in shuffled))
        words = ["sort", text]
        ordered = tasks.Execute(words, stdout=True, env={"LC_ALL": "C"}, tries=PROGRAM_TRIES)
        counted = tasks.Execute("wc -l", stdin=ordered, stdout=True, tries=PROGRAM_TRIES)
        ordered.output.keep()
        counted.output.keep()
        session.submit()
        found = ordered.output.fetch().get_str().split(), int(counted.output.fetch().get_str())
    return found, (lines, len(lines))


def fleeting(client: Client, random: Random) -> tuple[object, object]:
    """Long calls that are cancelled, short ones that are forgotten, and one that is wanted."""
    slow = [client.submit(time.sleep, 600 + number) for number in range(random.randint(1, 5))]
    client.map(step, range(random.randint(1, 20)), range(20))
    wanted = client.submit(step, 7, 7)
    for future in slow:
        future.cancel()
    return [wanted.result(), *(future.cancelled() for future in slow)], [224, *[True] * len(slow)]


JOBS: dict[str, Job] = {
    "chain": chain,
    "fan": fan,
    "nested": nested,
    "large constants": large_constants,
    "large results": large_results,
    "session with keeps": session_with_keeps,
    "programs": programs,
    "cancelled": fleeting,
}
"""All kinds of work by name."""
