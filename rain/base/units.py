"""Units: straight chains of Python tasks that run as one task, one call after the other.

To the server a unit is one task of the type `UNIT`. Its outputs are those of its last call, and its
inputs are what all its calls read, apart from what they make for each other: first the functions,
which governors tell executors once, then the rest.

Its config says what is inside, in msgpack: {"objects": rows of `ObjectKindRow` without the id,
"kinds": rows of `TaskKindRow` without id and type, "configs": configs of Python tasks, "calls":
rows of `InnerCall`}. All of these are named by their places. This file imports next to nothing,
since executors need it.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from rain.base.ids import TaskId, pack, spell

UNIT: Final = "py/fused"
"""The type of tasks that are units."""

FUNCTION_LABEL: Final = "function"
"""The label of the first inputs of a unit, which are the functions of its calls."""

BEFORE: Final = -1
"""Stands among the inputs of a call for what the call before it has made."""

_START = "Task "
_END = "in this unit, has failed:"


class InnerCall(NamedTuple):
    """One call inside of a unit; its inputs are places among those of the unit, or BEFORE."""

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
    """What a unit says when one of its calls, the first being at place 1, has failed with a text.

    The first line names the task, for people and for `failed_task`.
    """
    return f"{_START}{spell(task)} {name!r}, call {place} of {count} {_END}\n{text}"


def failed_task(message: str) -> TaskId | None:
    """The task inside of a unit that the message names as failed; None for any other failure."""
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
