"""Chains of a small function, for tests of what becomes of them when they are fused."""

from typing import Any

from rain.client import Output, Task, remote

PICKLE = [Output(encode="pickle")]


@remote(outputs=PICKLE, auto_load=True, name="inc")
def inc(ctx: Any, value: int) -> int:
    return value + 1


def chain(length: int) -> list[Task]:
    made = [inc(0)]
    while len(made) < length:
        made.append(inc(made[-1]))
    return made
