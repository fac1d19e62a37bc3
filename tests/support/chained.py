"""Graphs of remote functions whose values tell in which order they were computed of what."""

from typing import Any
from zlib import crc32

from attrs import frozen

from rain.client import DataObject, Output, Task, pickled, remote

PICKLE = [Output(encode="pickle")]


def mixed(name: str, *values: object) -> int:
    """A number that depends on all of the values and their order, the same in all processes."""
    return crc32(repr((name, *values)).encode())


@remote(outputs=PICKLE, auto_load=True)
def step(ctx: Any, *values: Any) -> int:
    """Tells its arguments and their order apart."""
    return mixed("step", *values)


@remote(outputs=[Output(encode="json")], auto_load=True)
def as_json(ctx: Any, *values: Any) -> int:
    return mixed("json", *values)


@remote(outputs=PICKLE)
def of_instances(ctx: Any, *values: Any) -> int:
    return mixed("instances", *(v if isinstance(v, int) else v.load() for v in values))


@remote(outputs=[Output("a", encode="pickle"), Output("b", encode="pickle")], auto_load=True)
def two(ctx: Any, *values: Any) -> list[int]:
    return [mixed("a", *values), mixed("b", *values)]


@remote()
def passed_on(ctx: Any, *values: Any) -> Any:
    data = [value for value in values if not isinstance(value, int)]
    return data[0] if data else ctx.pickled(values[0])


FUNCTIONS = [step, step, as_json, of_instances, passed_on, two]


@frozen
class Node:
    """A task: its function, what it reads of others, and whether it is kept."""

    function: int
    reads: tuple[int, ...]
    kept: bool
    number: int
    heavy: bool


def described(nodes: list[Node]) -> list[DataObject]:
    """Makes the tasks in the active session; the objects that are kept: those that end it, too."""
    read_by_others = {one for node in nodes for one in node.reads}
    constant = pickled(77)
    made: list[Task] = []
    for place, node in enumerate(nodes):
        function = FUNCTIONS[node.function]
        read = [made[one].output_objects[-1] for one in node.reads]
        arguments: list[Any] = [*read, node.number]
        if node.number == 5:
            arguments.append(constant)
        task = function(*arguments)
        if node.heavy:
            task.spec.resources["cpus"] = 2
        if node.kept or place not in read_by_others:
            task.keep_outputs()
        made.append(task)
    return [obj for task in made for obj in task.output_objects if obj.kept]
