"""The consistency checker: every row of the state tables, and every relation seen from both sides.

It mirrors the tables in rain/base and trusts nothing that the graph maintains step by step:
everything that can be counted is counted again. It runs after every turn in tests and with
RAIN_DEBUG_MODE=1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import inf

from rain.base.copies import STORED, CopyRow
from rain.base.errors import InvariantError
from rain.base.governors import GOVERNOR_FACTS
from rain.base.ids import spell
from rain.base.resources import NO_ROOM
from rain.base.runs import RUN_FACTS, RunState
from rain.base.states import TASK_FACTS, ObjectState, TaskRow
from rain.graph import check_circles, check_claims, check_references, check_shadows
from rain.graph.data_object import DataObject
from rain.graph.exchanges import check_exchanges, is_exchange
from rain.graph.expect import Expect
from rain.graph.governor import Governor
from rain.graph.graph import Graph
from rain.graph.session import Session
from rain.graph.task import Task

_UNSTARTED = (TaskRow.AHEAD, TaskRow.ASSIGNED, TaskRow.ASKED)
_NOT_ACTIVE = (TaskRow.BLOCKED, TaskRow.ASKED)


def check(graph: Graph) -> None:
    """Raises `InvariantError` with everything that contradicts itself."""
    found: list[str] = []
    unneeded, leaving = frozenset(graph.unneeded), frozenset(graph.leaving)
    contained = check_references.count(graph, found)
    for task in graph.tasks.values():
        expect = Expect(task, found)
        _check_place(graph, task, expect)
        _check_inputs_and_outputs(task, expect)
        _check_end(task, expect)
        _check_runs(task, expect)
        check_claims.check_task(graph, task, unneeded, leaving, expect)
    for data_object in graph.objects.values():
        expect = Expect(data_object, found)
        _check_object(graph, data_object, expect)
        _check_readers(graph, data_object, expect)
        check_claims.check_object(graph, data_object, contained, unneeded, leaving, expect)
    _check_pauses(graph, Expect(graph, found))
    check_shadows.check_shadows(graph, found)
    check_exchanges(graph, found)
    check_circles.check_circles(graph, found)
    for governor in graph.governors.values():
        _check_governor(graph, governor, found)
    for session in graph.sessions.values():
        _check_session(graph, session, found)
    there = len(graph.tasks) + len(graph.objects)
    Expect(graph, found)(
        there == graph.linked, "{} nodes are linked, there are {}", graph.linked, there
    )
    if found:
        raise InvariantError("the graph contradicts itself:\n" + "\n".join(found))


def _check_pauses(graph: Graph, expect: Expect) -> None:
    """Each task that pauses is in the heap once, and after a run that has failed.

    An exchange pauses after a run whose list was of no use.
    """
    heap = graph.pauses
    expect(all(heap[(i - 1) // 2] <= heap[i] for i in range(1, len(heap))), "pauses in disorder")
    listed = Counter((task_id, run) for _, task_id, run in heap)
    for task in graph.tasks.values():
        if task.row is TaskRow.PAUSED:
            run = task.last_run()
            over = task in graph.shadows and run.state is RunState.LOST  # it stands by
            useless = is_exchange(task) and run.state is RunState.FINISHED
            failed = run.state is RunState.FAILED
            expect(over or useless or failed, "{} pauses after {}", task, run)
            expect(listed[task.id, run.number] == 1, "{} pauses, and nothing ends that", task)


def _check_place(graph: Graph, task: Task, expect: Expect) -> None:
    """What its row says of its governor."""
    facts = TASK_FACTS[task.row]
    governor = task.scheduled
    expect((governor is not None) == facts.scheduled, "scheduled on {}", governor)
    if facts.ready is not None:
        expect((task.missing == 0) == facts.ready, "{} inputs missing", task.missing)
    expect((task.assigned is not None) == facts.assigned, "assigned to {}", task.assigned)
    if governor is not None:
        expect(graph.governors.get(governor.id) is governor, "{} has left", governor)
        expect(task in governor.scheduled, "{} does not list it as scheduled", governor)
        expect(
            (task in governor.queue) == facts.queued, "queued on {}: {}", governor, not facts.queued
        )
        expect((task in governor.assigned) == facts.assigned, "{} disagrees on assigned", governor)
        expect(task.assigned is None or task.assigned is governor, "assigned and scheduled differ")
        if task.row is TaskRow.AHEAD:
            expect(_are_made(task.inputs, governor), "its inputs are not made on {}", governor)


def _check_inputs_and_outputs(task: Task, expect: Expect) -> None:
    missing = sum(not data_object.is_finished for data_object in task.unique_inputs())
    # A finished task may have inputs that were removed, or are made again for others.
    expect(task.is_done or missing == task.missing, "{} inputs are unfinished", missing)
    for data_object in task.inputs:
        is_ours = data_object.session is task.session or task in task.session.reads_outside
        expect(is_ours, "{} is of another session", data_object)
        if not data_object.is_known:
            expect(task.is_done and not task.may_run_again, "its input {} has gone", data_object)
            continue
        expect(task in data_object.consumers, "{} does not list it as a consumer", data_object)
        expect(
            task.is_done or data_object.state is not ObjectState.REMOVED, "{} needed", data_object
        )
    for data_object in task.outputs:
        expect(data_object.producer is task, "{} names another producer", data_object)
        expect(data_object.is_known, "its output {} has gone before it", data_object)


def _check_end(task: Task, expect: Expect) -> None:
    """What its row says of how it has ended."""
    if task.row is TaskRow.FINISHED:
        expect(
            all(output.state is not ObjectState.UNFINISHED for output in task.outputs),
            "finished with unfinished outputs",
        )
        expect(not task.waits, "finished, and somebody still waits for it")
    expect(task.has_failed == (task.failure is not None), "failed because of {}", task.failure)
    if task.failure is not None:
        cancelled = task.row is TaskRow.CANCELLING or task.row is TaskRow.CANCELLED
        expect(cancelled == task.failure.cancelled, "it ended so because of {}", task.failure)
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


def _are_made(inputs: Iterable[DataObject], governor: Governor) -> bool:
    """Whether the governor was told to make what is missing of these."""
    return all(
        one.is_finished or (one.producer is not None and one.producer.assigned is governor)
        for one in inputs
    )


def _check_runs(task: Task, expect: Expect) -> None:
    last, told = task.run, task.assigned
    expect(last is not None or not task.former, "former runs, and no last one")
    expect(told is None or last is not None, "assigned without a run")
    expect(task.row is not TaskRow.FINISHED or last is not None, "finished without a run")
    if last is not None:
        expect(last.is_open == (told is not None), "{}, assigned to {}", last, told)
        expect(told is None or last.place == told.place, "{}, assigned to {}", last, told)
        has_finished = last.state is RunState.FINISHED
        expect(task.row is not TaskRow.FINISHED or has_finished, "finished by {}", last)
    numbers = [run.number for run in task.runs]
    expect(numbers == sorted(set(numbers)), "its runs are numbered {}", numbers)
    expect(not numbers or numbers[0] >= 1, "its runs are numbered {}", numbers)
    for run in task.runs:
        facts = RUN_FACTS[run.state]
        expect(not facts.is_open or run is last, "{} is open, and another one came after it", run)
        expect(not facts.is_open or task.row in facts.rows, "{} is open", run)
        caused = run.cause in facts.causes if facts.causes else run.cause is None
        expect(caused, "{} because of {}", run, run.cause)
        expect(run.state is not RunState.RUNNING or run.started > 0, "{} without a start", run)
        expect(not facts.is_open or not run.duration, "{} took {} seconds", run, run.duration)


def _reads_failed(task: Task) -> bool:
    return any(data_object.has_failed for data_object in task.inputs)


def _check_object(graph: Graph, data_object: DataObject, expect: Expect) -> None:
    copies = data_object.copies
    expect(not copies or data_object.is_finished, "it has {}", copies)
    expect(len({copy.governor for copy in copies}) == len(copies), "two copies on a governor")
    for copy in copies:
        governor = copy.governor
        expect(copy.object is data_object, "it has {}", copy)
        expect(graph.governors.get(governor.id) is governor, "{} has left", governor)
        expect(copy.is_there, "{} does not list its copy", governor)
        expect(copy.row in STORED, "{} is in no row of its own", copy)
        missed = copy.row is CopyRow.COMING
        expect(not copy.source or copy.is_known, "{} comes, but was not told", copy)
        expect(not copy.tries or missed, "{} was tried {} times", copy, copy.tries)
    _OBJECT_RULES[data_object.state](data_object, expect)


def _check_readers(graph: Graph, data_object: DataObject, expect: Expect) -> None:
    gone = sum(not task.is_known for task in data_object.consumers)
    noted = graph.former_readers.get(data_object, 0)
    expect(gone == noted, "{} of its readers are said to have gone, counted {}", noted, gone)
    producer = data_object.producer
    expect(producer is None or producer.is_known, "{} has gone before it", producer)


def _check_unfinished(data_object: DataObject, expect: Expect) -> None:
    producer = data_object.producer
    expect(producer is not None, "unfinished without a producer")
    expect(data_object.data is None, "unfinished, but the server has its bytes")
    expect(not data_object.spooled, "unfinished, but spooled")
    expect(producer is None or not producer.is_done, "unfinished after {}", producer)


def _check_finished(data_object: DataObject, expect: Expect) -> None:
    held = any(copy.is_held for copy in data_object.copies)
    expect(held or data_object.is_at_server, "finished, but nowhere")
    expect(data_object.data is None or len(data_object.data) == data_object.size, "size of data")
    expect(not data_object.spooled or data_object.producer is None, "spooled, and no constant")
    expect(not data_object.spooled or data_object.data is None, "spooled, and in memory too")
    expect(not data_object.waits, "finished, and somebody still waits for it")


def _check_removed(data_object: DataObject, expect: Expect) -> None:
    expect(not data_object.is_at_server, "removed, but the server has its bytes")
    expect(not data_object.is_needed, "removed, but needed")
    producer = data_object.producer
    expect(producer is None or producer.is_done, "removed before it was made")
    expect(
        producer is not None or not data_object.remade_by, "a constant that is needed was removed"
    )


def _check_failed(data_object: DataObject, expect: Expect) -> None:
    expect(not data_object.is_at_server, "failed, but the server has its bytes")
    producer = data_object.producer
    expect(producer is None or producer.has_failed, "failed, but not {}", producer)
    expect(not data_object.waits, "failed, and somebody still waits for it")


_OBJECT_RULES = {
    ObjectState.UNFINISHED: _check_unfinished,
    ObjectState.FINISHED: _check_finished,
    ObjectState.REMOVED: _check_removed,
    ObjectState.FAILED: _check_failed,
}


def _check_governor(graph: Graph, governor: Governor, found: list[str]) -> None:
    expect = Expect(governor, found)
    for task in governor.scheduled:
        expect(task.scheduled is governor, "{} is scheduled on {}", task, task.scheduled)
        expect(graph.tasks.get(task.id) is task, "{} is gone", task)
    for task in governor.assigned:
        expect(task in governor.scheduled, "{} is assigned but not scheduled", task)
        expect(task.assigned is governor, "{} is assigned to {}", task, task.assigned)
    facts = GOVERNOR_FACTS[governor.row]
    expect(governor.rests != facts.gets_tasks, "rests: {}", governor.rests)
    offers = governor.offered if facts.gets_tasks else NO_ROOM
    expect(governor.resources == offers, "offers {}", governor.resources)
    expect(governor.cpus == offers.cpus, "offers {} cpus", governor.cpus)
    ends = governor.ends_at < inf
    expect((governor.left < inf) == ends, "{} s left, ends: {}", governor.left, ends)
    expect((governor in graph.ending) == ends, "listed as one that ends: {}", not ends)
    unstarted = [task for task in governor.assigned if task.row in _UNSTARTED]
    expect(facts.keeps_tasks or not unstarted, "it has not started {}", unstarted)
    queued = [*governor.queue]
    expect(len({*queued}) == len(governor.queue), "{} places in its queue", len(governor.queue))
    turns: dict[Session, int] = {}
    for task in queued:
        last = turns.get(task.session, task.kind.priority)
        expect(task.kind.priority <= last, "{} is not in the order of its priority", task)
        turns[task.session] = task.kind.priority
        expect(task in governor.scheduled, "{} is queued but not scheduled", task)
        expect(task.row is TaskRow.QUEUED, "{} is in the queue", task)
    _check_moves(graph, governor, expect)
    busy = [task for task in governor.scheduled if task.row not in _NOT_ACTIVE]
    active = sum(task.cpus for task in busy if not task.missing or task.row is TaskRow.CANCELLING)
    active += sum(task.cpus for task in governor.expected)
    expect(
        active == governor.active_cpus, "{} cpus active, counted {}", governor.active_cpus, active
    )
    ahead = sum(task.row is TaskRow.AHEAD for task in governor.assigned)
    expect(ahead == governor.ahead, "{} tasks ahead, counted {}", governor.ahead, ahead)
    groups = Counter(
        (task.session, *group)
        for task in (*governor.scheduled, *governor.expected)
        if task.kind.constraints is not None
        for group in task.kind.constraints.groups()
    )
    expect(groups == governor.groups, "{} tasks of groups, counted {}", governor.groups, groups)
    for data_object, copy in governor.objects.items():
        named = copy.governor is governor and copy.object is data_object
        expect(named, "lists {} as the copy of {}", copy, data_object)
        expect(copy in data_object.copies, "lists {}, which its object does not have", copy)
        expect(graph.objects.get(data_object.id) is data_object, "{} is gone", data_object)
    kept = [orders.number for orders in governor.unheard]
    last = [*range(governor.ordered - len(kept) + 1, governor.ordered + 1)]
    expect(kept == last, "of {} orders these are kept: {}", governor.ordered, kept)


def _check_moves(graph: Graph, governor: Governor, expect: Expect) -> None:
    """What it was asked to return, and what it gets when others return it."""
    asked = {task for task in governor.assigned if task.row is TaskRow.ASKED}
    expect(asked == governor.asked.keys(), "it was asked for {}, lists {}", asked, governor.asked)
    for task, target in governor.asked.items():
        if target is not None:
            expect(graph.governors.get(target.id) is target, "{} goes to {}", task, target)
            expect(task in target.expected, "{} does not expect {}", target, task)
    for task in governor.expected:
        donor = task.assigned
        expect(donor is not None and donor.asked.get(task) is governor, "it expects {}", task)


def _check_session(graph: Graph, session: Session, found: list[str]) -> None:
    expect = Expect(session, found)
    left, client = session.is_left, session.client
    listed = client.sessions.get(session.id) is session
    expect(listed or left, "its client does not list it")
    expect(not (listed and left), "it is left, and its client lists it")
    expect(left or graph.clients.get(client.id) is client, "its client has left")
    check_claims.check_members(graph, session, expect)
    check_references.check_session(session, expect)
    check_shadows.check_groups(graph, session, expect)
    unfinished = sum(not task.is_done for task in session.tasks.values())
    expect(unfinished == session.unfinished, "{} unfinished, {}", session.unfinished, unfinished)
    stored = sum(one.size for one in session.objects.values() if one.is_finished)
    expect(stored == session.stored, "{} bytes stored, counted {}", session.stored, stored)
    if session.failure is not None:
        expect(not session.tasks and not session.objects, "failed, but not empty")
        expect(not session.waits, "failed, and somebody still waits")
    expect(bool(session.unfinished) or not session.idle_waits, "idle, and somebody still waits")
    for task_id, task in session.tasks.items():
        if task.id != task_id or task.session is not session:
            expect(False, "it has {} as {}", task, spell(task_id))
    for object_id, data_object in session.objects.items():
        if data_object.id != object_id or data_object.session is not session:
            expect(False, "it has {} as {}", data_object, spell(object_id))
