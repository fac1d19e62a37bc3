"""Units: straight chains of Python tasks that run as one task, one call after the other.

For the server a unit is one task of the type `UNIT`. Its outputs are those of its last call. Its
inputs are the inputs of all its calls, except those that the calls make for each other: first the
functions, which governors send to executors once, then the rest.

Its config describes the calls in msgpack: {"objects": rows of `ObjectKindRow` without the id,
"kinds": rows of `TaskKindRow` without id and type, "configs": configs of Python tasks, "calls":
rows of `InnerCall`}. All of these refer to each other by index. This file imports almost nothing,
because executors need it.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from rain.base.ids import TaskId, pack, spell

UNIT: Final = "py/fused"
"""The type of tasks that are units."""

FUNCTION_LABEL: Final = "function"
"""The label of the first inputs of a unit, which are the functions of its calls."""

BEFORE: Final = -1
"""Stands for the output of the previous call among the inputs of a call."""

_START = "Task "
_END = "in this unit, has failed:"


class InnerCall(NamedTuple):
    """One call of a unit; its inputs are indexes of the unit's inputs, or BEFORE."""

    task: int
    kind: int
    config: int
    inputs: list[int]
    outputs: list[int]


def function_count(labels: Sequence[str]) -> int:
    """How many of the first inputs of a unit are functions."""
    count = 0
    while count < len(labels) and labels[count] == FUNCTION_LABEL:
        count += 1
    return count


def failure_inside(task: int, name: str, place: int, count: int, text: str) -> str:
    """The error text of a unit in which the call at `place` (from 1) has failed.

    The first line names the task, for people and for `failed_task`.
    """
    return f"{_START}{spell(task)} {name!r}, call {place} of {count} {_END}\n{text}"


def failed_task(message: str) -> TaskId | None:
    """The failed task of a unit that the message names; None for any other failure."""
    first = message.partition("\n")[0]
    if not (first.startswith(_START) and first.endswith(_END)):
        return None
    session, _, number = first.split(" ", 2)[1].partition("/")
    if not (session.isdecimal() and number.isdecimal()):
        return None
    try:
        return TaskId(pack(int(session), int(number)))
    except ValueError:
        return None
