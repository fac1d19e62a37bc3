"""Shadows: second runs of tasks that are late.

A task has one open run, which determines its governor, the cpus that it takes and where its outputs
are made. So a second run beside the first one is that of another task, its **shadow**, which the
server adds to the session: of the same kind, with the same inputs, and with outputs of its own. No
client has a handle of it, and reports of the session leave it out.

While both run, the late task claims the outputs of the shadow, like a reader. When the shadow has
finished, the late task passes them on (`standing_in`). In any other case the shadow is dissolved:
it leaves the graph without a trace.
"""

from __future__ import annotations

from attrs import Factory, define

from rain.base.ids import FIRST_OF_SERVER, LAST_SHARED, NUMBER_BITS, ObjectId, TaskId
from rain.base.runs import RunCause
from rain.base.states import ObjectState, TaskMove
from rain.graph import claims, planning, references
from rain.graph.data_object import DataObject
from rain.graph.graph import Graph
from rain.graph.leaving import take_out
from rain.graph.run import Ending
from rain.graph.session import Session
from rain.graph.task import DONE, Task


@define
class Dissolved:
    """The consequences of the end of a shadow."""

    stopped: list[planning.Stopped] = Factory(list)
    free: list[DataObject] = Factory(list)  # what is not needed any more
    gone: list[Task | DataObject] = Factory(list)  # out of the graph


def can_have_one(task: Task) -> bool:
    """Whether a second run of a running task would make all of its outputs."""
    numbers = FIRST_OF_SERVER + task.session.numbers_of_server + 1 + len(task.outputs)
    return (
        numbers <= LAST_SHARED
        and not task.missing
        and all(output.state is ObjectState.UNFINISHED for output in task.outputs)
    )


def add(graph: Graph, late: Task) -> Task:
    """Adds the shadow of a task that runs; it is ready and has no plan."""
    session = late.session
    first = _take_numbers(session, 1 + len(late.outputs))
    graph.last_order += 1
    shadow = Task(TaskId(first), graph.last_order, session, late.kind, late.config, late.inputs)
    shadow.fails_alone = late.fails_alone
    shadow.outputs = tuple(
        [
            DataObject(ObjectId(number), session, output.kind, shadow)
            for number, output in enumerate(late.outputs, first + 1)
        ]
    )
    session.tasks[shadow.id] = shadow
    for output in shadow.outputs:
        session.objects[output.id] = output
        output.needed_by += 1  # by the late task
    graph.linked += 1 + len(shadow.outputs)
    session.unfinished += 1
    session.shadows += 1
    alone = (shadow,)
    for one in shadow.unique_inputs():
        claims.start_reading(one, alone)
    references.contain(shadow, session.contents.get(late, ()))
    if late in session.reads_outside:
        session.reads_outside[shadow] = None
    shadow.move(TaskMove.INPUTS_FINISHED)
    graph.shadows[late], graph.shadowed[shadow] = shadow, late
    return shadow


def part(graph: Graph, late: Task) -> list[DataObject]:
    """The late task does not wait for its shadow any more; returns what is not needed any more."""
    shadow = graph.shadows.pop(late)
    del graph.shadowed[shadow]
    for output in shadow.outputs:
        output.needed_by -= 1
    return [output for output in shadow.outputs if not output.needed_by]


def dissolve(graph: Graph, late: Task, now: float) -> Dissolved:
    """The shadow of this task is not needed any more."""
    shadow = graph.shadows[late]
    dissolved = Dissolved(free=part(graph, late))
    if shadow.row in DONE:  # it leaves by itself
        return dissolved
    if shadow.scheduled is not None:
        dissolved.stopped = planning.take_back(shadow, Ending(now, RunCause.OUTRUN))
    shadow.session.unfinished -= 1
    dissolved.free = claims.never_reading((shadow,))
    for one in shadow.unique_inputs():
        one.consumers = tuple([reader for reader in one.consumers if reader is not shadow])
    shadow.inputs = ()
    take_out(graph, shadow, dissolved.gone)
    return dissolved


def forget_shadows(graph: Graph, session: Session) -> None:
    """The session has ended, with its tasks and their shadows."""
    for late in [late for late in graph.shadows if late.session is session]:
        del graph.shadowed[graph.shadows.pop(late)]


def _take_numbers(session: Session, count: int) -> int:
    """The first of some numbers that no client uses, packed with the session."""
    first = FIRST_OF_SERVER + session.numbers_of_server
    session.numbers_of_server += count
    return session.id << NUMBER_BITS | first
