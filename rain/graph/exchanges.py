"""Exchanges: tasks that list where partitioned objects are (rain/base/exchange.py).

An exchange reads its objects like any task, but they are not sent to its governor: it gets the list
of their places as its config. Its result, the list, **contains** them, so that their data stays as
long as a task will read parts of it.

A list that contains a lost copy is useless. So when any copy of one of its objects is lost, the
list is lost as a whole: its readers wait until the exchange has run again. Readers that have
finished stay finished.

The list is never kept at the server, although it is small: the server would count it as safe.
"""

from __future__ import annotations

from rain.base.exchange import EXCHANGE, ListedObject, encode_list
from rain.base.states import TaskRow
from rain.base.wire.orders import SERVER
from rain.graph.data_object import DataObject
from rain.graph.expect import Expect
from rain.graph.graph import Graph
from rain.graph.standing_in import stands_in
from rain.graph.task import Task


def is_exchange(task: Task | None) -> bool:
    """Whether the task is an exchange."""
    return task is not None and task.kind.task_type == EXCHANGE


def list_of(task: Task) -> bytes:
    """Where the objects of an exchange are now."""
    readers = sum(len(made.consumers) for made in task.outputs) or 1
    return encode_list(
        [ListedObject(one.id, one.size // readers, _source(one)) for one in task.unique_inputs()]
    )


def _source(data_object: DataObject) -> str:
    for holder in data_object.located:
        return holder.source
    return SERVER


def lists_with(data_object: DataObject) -> list[DataObject]:
    """The lists that name this object, and that are needed."""
    return [
        output
        for task in data_object.consumers
        if is_exchange(task) and task.row is TaskRow.FINISHED
        for output in task.outputs
        if output.is_finished and output.is_needed
    ]


def being_listed_by(data_object: DataObject) -> list[Task]:
    """The unfinished exchanges whose governors have got a list with this object."""
    return [
        task
        for task in data_object.consumers
        if is_exchange(task) and task.assigned is not None and not task.is_done
    ]


def lists_of(task: Task) -> list[DataObject]:
    """The finished lists among what a task reads, with those that others pass on."""
    found: dict[DataObject, None] = {}
    for one in task.inputs:
        way = [one]
        producer = one.producer
        while producer is not None and stands_in(producer) and producer.inputs:
            one = producer.inputs[producer.outputs.index(one)]  # noqa: PLW2901 # the way up
            producer = one.producer
            way.append(one)
        if is_exchange(producer):
            found.update(dict.fromkeys(way))
    return [one for one in found if one.is_finished]


def check_exchanges(graph: Graph, found: list[str]) -> None:
    """Checks the lists of exchanges: all objects in a finished list have copies, and are kept."""
    for task in graph.tasks.values():
        if not is_exchange(task):
            continue
        expect = Expect(task, found)
        expect(graph.has_exchanges, "it is an exchange, and nobody looks at them")
        expect(task.row is not TaskRow.AHEAD, "an exchange was sent before all places are known")
        expect(len(task.outputs) == 1, "an exchange makes {}", task.outputs)
        for made in task.outputs:
            expect(made.data is None, "the server keeps the list {}", made)
            if not made.is_finished or not made.is_needed:
                continue
            inside = made.session.contents.get(made, ())
            expect(set(inside) == set(task.inputs), "{} contains {}", made, inside)
            for one in inside:
                expect(one.is_finished, "{} names {}, which is not there", made, one)
