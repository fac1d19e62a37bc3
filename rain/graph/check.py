"""The consistency checker: every row of the state tables, and every relation seen from both sides.

It mirrors rain/base/states.py and trusts nothing that the graph maintains step by step: whatever
can be counted again is counted again. Runs after every turn in tests and with RAIN_DEBUG_MODE=1.
"""

from __future__ import annotations

from collections import Counter

from rain.base.errors import InvariantError
from rain.base.ids import spell
from rain.base.runs import RUN_FACTS, RunState
from rain.base.states import TASK_FACTS, ObjectState, TaskRow
from rain.graph import check_claims, planning
from rain.graph.data_object import DataObject
from rain.graph.governor import Governor
from rain.graph.graph import Graph
from rain.graph.session import Session
from rain.graph.task import Task


def check(graph: Graph) -> None:
    """Raises `InvariantError` with everything that contradicts itself."""
    found: list[str] = []
    unneeded, leaving = frozenset(graph.unneeded), frozenset(graph.leaving)
    for task in graph.tasks.values():
        _check_task(graph, task, found)
        _check_runs(task, _Expect(task, found))
        check_claims.check_task(graph, task, unneeded, leaving, _Expect(task, found))
    for data_object in graph.objects.values():
        expect = _Expect(data_object, found)
        _check_object(graph, data_object, expect)
        _check_readers(graph, data_object, expect)
        check_claims.check_object(graph, data_object, unneeded, leaving, expect)
    for governor in graph.governors.values():
        _check_governor(graph, governor, found)
    for session in graph.sessions.values():
        _check_session(graph, session, found)
    there = len(graph.tasks) + len(graph.objects)
    _Expect(graph, found)(
        there == graph.linked, f"{graph.linked} nodes are linked, there are {there}"
    )
    if found:
        raise InvariantError("the graph contradicts itself:\n" + "\n".join(found))


class _Expect:
    """Collects what does not hold, each with its subject."""

    def __init__(self, subject: object, found: list[str]) -> None:
        self.subject = subject
        self.found = found

    def __call__(self, holds: bool, what: str) -> None:
        if not holds:
            self.found.append(f"  {self.subject!r}: {what}")


def _check_task(graph: Graph, task: Task, found: list[str]) -> None:
    expect = _Expect(task, found)
    facts = TASK_FACTS[task.row]
    governor = task.scheduled
    expect((governor is not None) == facts.scheduled, f"scheduled on {governor}")
    expect((task.missing == 0) == facts.ready, f"{task.missing} inputs missing")
    expect((task.assigned is not None) == facts.assigned, f"assigned to {task.assigned}")
    if governor is not None:
        expect(graph.governors.get(governor.id) is governor, f"{governor} has left")
        expect(task in governor.scheduled, f"{governor} does not list it as scheduled")
        expect(
            (task in governor.queue) == facts.queued, f"queued on {governor}: {not facts.queued}"
        )
        expect((task in governor.assigned) == facts.assigned, f"{governor} disagrees on assigned")
        expect(task.assigned is None or task.assigned is governor, "assigned and scheduled differ")
    missing = sum(not data_object.is_finished for data_object in task.unique_inputs())
    # A finished task may have inputs that were removed, or are made again for others.
    expect(task.is_done or missing == task.missing, f"{missing} inputs are unfinished")
    for data_object in task.inputs:
        expect(data_object.session is task.session, f"{data_object} is of another session")
        if not data_object.is_known:
            expect(task.is_done and not task.may_run_again, f"its input {data_object} has gone")
            continue
        expect(task in data_object.consumers, f"{data_object} does not list it as a consumer")
        expect(
            task.is_done or data_object.state is not ObjectState.REMOVED, f"{data_object} needed"
        )
    for data_object in task.outputs:
        expect(data_object.producer is task, f"{data_object} names another producer")
        expect(data_object.is_known, f"its output {data_object} has gone before it")
    if task.row is TaskRow.AHEAD and governor is not None:
        expect(planning.can_go_ahead(task, governor), f"its inputs are not made on {governor}")
    if task.row is TaskRow.FINISHED:
        expect(
            all(output.state is not ObjectState.UNFINISHED for output in task.outputs),
            "finished with unfinished outputs",
        )
        expect(not task.waits, "finished, and somebody still waits for it")
    expect(task.has_failed == (task.failure is not None), f"failed because of {task.failure}")
    if task.has_failed:
        expect(task.goes_on or _reads_failed(task), "failed, and its session goes on")
        expect(task.session.first_failed is not None, "failed, and its session does not know")
        expect(not task.waits, "failed, and somebody still waits for it")
        expect(
            all(output.state is not ObjectState.UNFINISHED for output in task.outputs),
            "failed with unfinished outputs",
        )
    if not task.is_done:
        expect(
            all(data_object.state is not ObjectState.FAILED for data_object in task.inputs),
            "waits for what will never be made",
        )


def _check_runs(task: Task, expect: _Expect) -> None:
    last, told = task.run, task.assigned
    expect(last is not None or not task.former, "former runs, and no last one")
    expect(told is None or last is not None, "assigned without a run")
    expect(task.row is not TaskRow.FINISHED or last is not None, "finished without a run")
    if last is not None:
        expect(last.is_open == (told is not None), f"{last}, assigned to {told}")
        expect(told is None or last.place == told.place, f"{last}, assigned to {told}")
        has_finished = last.state is RunState.FINISHED
        expect(task.row is not TaskRow.FINISHED or has_finished, f"finished by {last}")
    numbers = [run.number for run in task.runs]
    expect(numbers == sorted(set(numbers)), f"its runs are numbered {numbers}")
    expect(not numbers or numbers[0] >= 1, f"its runs are numbered {numbers}")
    for run in task.runs:
        facts = RUN_FACTS[run.state]
        expect(not facts.is_open or run is last, f"{run} is open, and another one came after it")
        expect(not facts.is_open or task.row in facts.rows, f"{run} is open")
        caused = run.cause in facts.causes if facts.causes else run.cause is None
        expect(caused, f"{run} because of {run.cause}")
        expect(run.state is not RunState.RUNNING or run.started > 0, f"{run} without a start")
        expect(not facts.is_open or not run.duration, f"{run} took {run.duration} seconds")


def _reads_failed(task: Task) -> bool:
    return any(data_object.has_failed for data_object in task.inputs)


def _check_object(graph: Graph, data_object: DataObject, expect: _Expect) -> None:
    governors = dict.fromkeys((*data_object.scheduled, *data_object.assigned, *data_object.located))
    for governor in governors:
        expect(graph.governors.get(governor.id) is governor, f"{governor} has left")
        expect(data_object in governor.objects, f"{governor} does not list it")
        expect(data_object.copy_row(governor) is not None, f"no row for its copy on {governor}")
    for group in (data_object.scheduled, data_object.assigned, data_object.located):
        expect(len(set(group)) == len(group), "a governor is named twice")
    _OBJECT_RULES[data_object.state](data_object, expect)


def _check_readers(graph: Graph, data_object: DataObject, expect: _Expect) -> None:
    gone = sum(not task.is_known for task in data_object.consumers)
    noted = graph.former_readers.get(data_object, 0)
    expect(gone == noted, f"{noted} of its readers are said to have gone, counted {gone}")
    producer = data_object.producer
    expect(producer is None or producer.is_known, f"{producer} has gone before it")


def _check_unfinished(data_object: DataObject, expect: _Expect) -> None:
    producer = data_object.producer
    expect(producer is not None, "unfinished without a producer")
    expect(not data_object.located and data_object.data is None, "unfinished, but somewhere")
    expect(not data_object.spooled, "unfinished, but spooled")
    if producer is None:
        return
    expect(not producer.is_done, f"unfinished after {producer}")
    planned = () if producer.scheduled is None else (producer.scheduled,)
    told = () if producer.assigned is None else (producer.assigned,)
    expect(data_object.scheduled == planned, f"scheduled {data_object.scheduled} != {planned}")
    expect(data_object.assigned == told, f"assigned {data_object.assigned} != {told}")


def _check_finished(data_object: DataObject, expect: _Expect) -> None:
    expect(bool(data_object.located) or data_object.is_at_server, "finished, but nowhere")
    expect(data_object.data is None or len(data_object.data) == data_object.size, "size of data")
    expect(not data_object.spooled or data_object.producer is None, "spooled, and no constant")
    expect(not data_object.spooled or data_object.data is None, "spooled, and in memory too")
    expect(not data_object.waits, "finished, and somebody still waits for it")


def _check_removed(data_object: DataObject, expect: _Expect) -> None:
    expect(
        not (data_object.scheduled or data_object.assigned or data_object.located),
        "removed, but somewhere",
    )
    expect(not data_object.is_at_server, "removed, but the server has its bytes")
    expect(not data_object.is_needed, "removed, but needed")
    producer = data_object.producer
    expect(producer is None or producer.is_done, "removed before it was made")
    expect(
        producer is not None or not data_object.remade_by, "a constant that is needed was removed"
    )


def _check_failed(data_object: DataObject, expect: _Expect) -> None:
    expect(
        not (data_object.scheduled or data_object.assigned or data_object.located),
        "failed, but somewhere",
    )
    expect(not data_object.is_at_server, "failed, but the server has its bytes")
    producer = data_object.producer
    expect(producer is None or producer.has_failed, f"failed, but not {producer}")
    expect(not data_object.waits, "failed, and somebody still waits for it")


_OBJECT_RULES = {
    ObjectState.UNFINISHED: _check_unfinished,
    ObjectState.FINISHED: _check_finished,
    ObjectState.REMOVED: _check_removed,
    ObjectState.FAILED: _check_failed,
}


def _check_governor(graph: Graph, governor: Governor, found: list[str]) -> None:
    expect = _Expect(governor, found)
    for task in governor.scheduled:
        expect(task.scheduled is governor, f"{task} is scheduled on {task.scheduled}")
        expect(graph.tasks.get(task.id) is task, f"{task} is gone")
    for task in governor.assigned:
        expect(task in governor.scheduled, f"{task} is assigned but not scheduled")
        expect(task.assigned is governor, f"{task} is assigned to {task.assigned}")
    for task in governor.queue:
        expect(task in governor.scheduled, f"{task} is queued but not scheduled")
        expect(task.row is TaskRow.QUEUED, f"{task} is in the queue")
    busy = [task for task in governor.scheduled if task.row is not TaskRow.BLOCKED]
    active = sum(task.cpus for task in busy if not task.missing)
    expect(active == governor.active_cpus, f"{governor.active_cpus} cpus active, counted {active}")
    ahead = sum(task.row is TaskRow.AHEAD for task in governor.assigned)
    expect(ahead == governor.ahead, f"{governor.ahead} tasks ahead, counted {ahead}")
    groups = Counter(
        (task.session, *group)
        for task in governor.scheduled
        if task.kind.constraints is not None
        for group in task.kind.constraints.groups()
    )
    expect(groups == governor.groups, f"{governor.groups} tasks of groups, counted {groups}")
    for data_object in governor.objects:
        expect(
            governor in (*data_object.scheduled, *data_object.assigned, *data_object.located),
            f"lists {data_object}, which does not name it",
        )
        expect(graph.objects.get(data_object.id) is data_object, f"{data_object} is gone")


def _check_session(graph: Graph, session: Session, found: list[str]) -> None:
    expect = _Expect(session, found)
    expect(session.client.sessions.get(session.id) is session, "its client does not list it")
    expect(graph.clients.get(session.client.id) is session.client, "its client has left")
    check_claims.check_members(graph, session, expect)
    unfinished = sum(not task.is_done for task in session.tasks.values())
    expect(unfinished == session.unfinished, f"{session.unfinished} unfinished, {unfinished}")
    if session.failure is not None:
        expect(not session.tasks and not session.objects, "failed, but not empty")
        expect(not session.waits, "failed, and somebody still waits")
    expect(bool(session.unfinished) or not session.idle_waits, "idle, and somebody still waits")
    for task_id, task in session.tasks.items():
        expect(task.id == task_id and task.session is session, f"it has {task} as {spell(task_id)}")
    for object_id, data_object in session.objects.items():
        fits = data_object.id == object_id and data_object.session is session
        expect(fits, f"it has {data_object} as {spell(object_id)}")
