"""The consistency checker: checks every row of the tables and every relation from both sides.

It does not trust any value that the state maintains incrementally, and counts everything again. It
runs after every turn in tests and with RAIN_DEBUG_MODE=1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import inf

from rain.base.errors import InvariantError
from rain.base.ids import session_of
from rain.base.resources import MEMORY
from rain.governor.core.check_files import (
    disk_contradictions,
    far_contradictions,
    held_back_contradictions,
    tier_contradictions,
)
from rain.governor.core.fetch_queue import is_fetchable
from rain.governor.core.fetches import FETCHES_AT_ONCE, SMALL_AT_ONCE, SMALL_BYTES
from rain.governor.core.lingering import Lingering
from rain.governor.core.nodes import UNKNOWN, DataObject, Executor, ReadyGroup, Session, Task
from rain.governor.core.numbers import Numbers
from rain.governor.core.outbox import Outbox
from rain.governor.core.resources import FreeResources
from rain.governor.core.state import State
from rain.governor.core.tables import ObjectRow, TaskRow

_HERE = (ObjectRow.HELD, ObjectRow.LINGERING)
_MISSING = (TaskRow.WAITING, TaskRow.FOLLOWING)
_IN_HAND = (TaskRow.FOLLOWING, TaskRow.CALLING)
_STARTED = (TaskRow.RUNNING, TaskRow.TIMED_OUT, TaskRow.EVICTED)
_WORKED_ON = (*_STARTED, TaskRow.CANCELLING)
_LIVE = (
    *_MISSING,
    TaskRow.ASKING,
    TaskRow.READY,
    TaskRow.HELD_BACK,
    TaskRow.CALLING,
    *_STARTED,
    TaskRow.KEEPING,
)


def check(state: State) -> None:
    """Raises `InvariantError` with all contradictions in the state."""
    found = [f"  {claim}" for claim in _contradictions(state)]
    if found:
        raise InvariantError("the governor's state contradicts itself:\n" + "\n".join(found))


def _contradictions(state: State) -> Iterator[str]:
    queued = Counter(task for group in state.dispatch.groups.values() for task in group.entries())
    called = Counter(task for one in state.pool.executors.values() for task in one.calls)
    asked = Counter(state.objects.caching.asked.values())
    kept = Counter(kept.task for kept in state.objects.caching.keeping.values())
    consumers, missed = _readers(state)
    for session in state.sessions.values():
        yield from _session(state, session, consumers, missed)
        yield from _order(session)
        for task in session.tasks.values():
            if queued[task] != (task.row is TaskRow.READY):
                yield f"{task!r} is {queued[task]} times in the ready queues"
            if asked[task] != (task.row is TaskRow.ASKING):
                yield f"the cache was asked {asked[task]} times for {task!r}"
            if kept[task] != (task.row is TaskRow.KEEPING):
                yield f"the outputs of {task!r} are kept {kept[task]} times"
            if called[task] != (task.executor is not None):
                yield f"{task!r} is {called[task]} times among the calls of executors"
    yield from _objects(state)
    yield from held_back_contradictions(state)
    for executor in state.pool.executors.values():
        yield from _executor(state, executor)
    if not set(state.pool.busy) <= set(state.pool.executors):
        yield "an executor that has gone is among the busy ones"
    for group in state.dispatch.groups.values():
        yield from _group(state, group)
    yield from _waiting(state)
    yield from _asked_back(state)
    if state.drain_reported:
        yield from _drained(state)
    yield from _resources(state)
    yield from _numbers(state.outbox.numbers)
    if state.outbox.effects or _going(state.outbox) or state.outbox.has_news():
        yield "something decided was not handed over"


def _going(outbox: Outbox) -> bool:
    return bool(outbox.files or outbox.awaited_files or outbox.far_files)


def _numbers(numbers: Numbers) -> Iterator[str]:
    """Checks that unconfirmed news are kept, without a gap."""
    kept = [update.number for update in numbers.kept]
    if kept != [*range(numbers.applied + 1, numbers.sent + 1)]:
        yield f"of {numbers.sent} news {numbers.applied} are confirmed, and these are kept: {kept}"


def _readers(state: State) -> tuple[Counter[DataObject], dict[DataObject, Counter[Task]]]:
    """How often each object is read, and by whom those are that are not here.

    A task may read what is of another session.
    """
    consumers: Counter[DataObject] = Counter()
    missed: dict[DataObject, Counter[Task]] = {}
    for session in state.sessions.values():
        for task in session.tasks.values():
            consumers.update(task.inputs)
            for target in task.inputs:
                if target.row is not ObjectRow.HELD:
                    missed.setdefault(target, Counter())[task] += 1
    return consumers, missed


def _session(
    state: State,
    session: Session,
    consumers: Counter[DataObject],
    missed: dict[DataObject, Counter[Task]],
) -> Iterator[str]:
    for task_id, task in session.tasks.items():
        if session_of(task.id) != session.id or task.id != task_id or task.session is not session:
            yield f"{task!r} is listed in the wrong place"
        yield from _task(state, task)
    for object_id, target in session.objects.items():
        if session_of(target.id) != session.id or target.id != object_id:
            yield f"{target!r} is listed in the wrong place"
        if target.consumers != consumers[target]:
            yield f"{target!r} has {consumers[target]} consumers, not {target.consumers}"
        if Counter(target.waiting or ()) != missed.get(target, Counter()):
            yield f"{target!r}: the tasks that wait for it are not {target.waiting}"
        if target.waiting == []:
            yield f"{target!r} has an empty list of tasks that wait"
        yield from _object(state, target)


def _task(state: State, task: Task) -> Iterator[str]:
    missing = sum(target.row is not ObjectRow.HELD for target in task.inputs)
    if task.row not in _LIVE:
        yield f"{task!r} has ended, but is listed"
    if task.missing != missing:
        yield f"{task!r} misses {missing} inputs, not {task.missing}"
    if (task.row in _MISSING) != (missing > 0):
        yield f"{task!r} misses {missing} inputs"
    for target in (*task.inputs, *task.outputs):
        if target.session.objects.get(target.id) is not target:
            yield f"{task!r} names {target!r}, which is not known"
    for target in task.outputs:
        if target.producer is not task:
            yield f"{task!r} is not the producer of {target!r}"
    if task.key is not None and not task.kind.cache:
        yield f"{task!r} has a key, but no cache"
    in_hand = task.executor is not None
    if in_hand != (task.row in _IN_HAND or (task.row in _STARTED and not task.run)):
        yield f"{task!r} and its executor {task.executor!r} do not fit"
    if task.run and (task.row not in _STARTED or state.dispatch.runs.get(task.run) is not task):
        yield f"{task!r} does not run inside the governor as {task.run}"


def _object(state: State, target: DataObject) -> Iterator[str]:
    row = target.row
    if row is ObjectRow.GONE:
        yield f"{target!r} is gone, but listed"
    if (target.content is not None) != (row in _HERE):
        yield f"{target!r}: content and row do not fit"
    needed = target.wanted or target.lent or target.consumers > 0
    if needed and row is ObjectRow.LINGERING:
        yield f"{target!r}: wanted {target.wanted}, {target.consumers} consumers"
    if not needed and row is not ObjectRow.LINGERING and target.producer is None:
        yield f"{target!r} is not needed"
    if target.lent and (target.wanted or row is not ObjectRow.HELD):
        yield f"{target!r} was lent, but is wanted, or not here"
    if row is ObjectRow.UNSTORED and target.waiting:
        yield f"{target!r} is waited for, but nothing provides it"
    if (row is ObjectRow.LINGERING) != (target in state.objects.lingering):
        yield f"{target!r}: the list of lingering objects does not fit"
    if (row is ObjectRow.PULLING) != (state.objects.fetches.going.get(target.fetch) is target):
        yield f"{target!r}: the fetches do not fit"
    if is_fetchable(target) and target not in state.objects.fetches.queue:
        yield f"{target!r} is not in the queue of fetches"
    yield from _relations(target)


def _relations(target: DataObject) -> Iterator[str]:
    producer = target.producer
    if target.row is ObjectRow.MAKING and producer is None:
        yield f"{target!r} has no producer"
    if producer is not None and (
        target not in producer.outputs or producer.session.tasks.get(producer.id) is not producer
    ):
        yield f"{target!r}: {producer!r} does not make it"
    for executor in target.cached_by or ():
        if executor.cached.get(target.id) is not target:
            yield f"{target!r} is not remembered by {executor!r}"
    if target.cached_by == []:
        yield f"{target!r} has an empty list of executors"


def _lingering(lingering: Lingering, known: list[DataObject]) -> Iterator[str]:
    times = lingering.times
    if not set(times) <= set(known) or lingering.surplus():
        yield "too many objects linger"
    if lingering.bytes != sum(target.size for target in times):
        yield f"{lingering.bytes} lingering bytes are not those of the objects"
    if min(times.values(), default=inf) < lingering.expiry:
        yield "a lingering object is not in the list"
    if list(times.values()) != sorted(times.values()):
        yield "the list of lingering objects is not in the order of time"


def _objects(state: State) -> Iterator[str]:
    objects = state.objects
    known = [target for session in state.sessions.values() for target in session.objects.values()]
    files = Counter(target.content for target in known if isinstance(target.content, int))
    shared = {file: count for file, count in files.items() if count > 1}
    if objects.files.counts != shared:
        yield f"files are shared as {shared}, not {objects.files.counts}"
    yield from _lingering(objects.lingering, known)
    yield from tier_contradictions(objects.files, known)
    yield from disk_contradictions(state, known)
    yield from far_contradictions(state, known)
    fetched = objects.fetches.going.values()
    together = sum(target.size for target in fetched)
    most = SMALL_AT_ONCE if together <= SMALL_BYTES else FETCHES_AT_ONCE
    if not set(fetched) <= set(known) or len(fetched) > most:
        yield "there are too many fetches"
    first = objects.fetches.first()
    if first is not None and objects.fetches.may_start(first):
        yield "a fetch could start, and does not"


def _drained(state: State) -> Iterator[str]:
    """The server has heard of all that runs and that it still wants; nothing else is started."""
    for executor in state.pool.executors.values():
        for task in executor.calls:
            if not task.reported and task.row is not TaskRow.CANCELLING:
                yield f"{task!r} is at {executor!r}, and the server was not told of its start"


def _executor(state: State, executor: Executor) -> Iterator[str]:
    pool = state.pool
    idle = pool.idle.get(executor.runner, []).count(executor)
    rests = executor.ready and not (executor.calls or executor.recalling or executor.dying)
    if idle != rests:
        yield f"{executor!r} is {idle} times among the idle ones"
    if (executor.group is not None) != bool(executor.calls):
        yield f"{executor!r}: the lease does not fit"
    if (state.pool.busy.get(executor.id) is executor) != bool(executor.calls):
        yield f"{executor!r}: the list of the busy ones does not fit"
    if executor.group is not None and executor.group.leased.count(executor) != 1:
        yield f"{executor!r} is not leased by its group"
    if executor.calls and not executor.ready:
        yield f"{executor!r} has calls before it is ready"
    if executor.calls and executor.calls[0].row is TaskRow.CALLING:
        yield f"{executor!r} has come to {executor.calls[0]!r}, and it is not told"
    for target in executor.cached.values():
        if executor not in (target.cached_by or ()):
            yield f"{executor!r} remembers {target!r} in vain"
    if executor.grace_ends < inf and (
        executor.dying
        or len(executor.calls) != 1
        or executor.calls[0].row not in (TaskRow.CANCELLING, TaskRow.TIMED_OUT, TaskRow.EVICTED)
    ):
        yield f"{executor!r} was interrupted, but not in its only call"
    load = sum(task.cost for task in executor.calls)
    if load != UNKNOWN and abs(load - executor.load) > 1e-6:
        yield f"{executor!r} has a load of {load}, not {executor.load}"
    for task in executor.calls:
        yield from _call(executor, task)


def _waiting(state: State) -> Iterator[str]:
    blocked = state.pool.lending.blocked
    for executor in state.pool.executors.values():
        if (executor.blocked_depth >= 0) != (executor.id in blocked):
            yield f"{executor!r}: the list of those that wait does not fit"
        if executor.blocked_depth >= 0 and not executor.calls:
            yield f"{executor!r} waits, and has no call"


def _asked_back(state: State) -> Iterator[str]:
    """Checks that unanswered tasks that were asked back are at an executor that is being asked."""
    for task in state.asked_back.asked:
        executor = task.executor
        if executor is None or not (executor.recalling or executor.dying):
            yield f"{task!r} was asked back, and nobody finds out whether it has begun"


def _call(executor: Executor, task: Task) -> Iterator[str]:
    if task.executor is not executor or task.group is not executor.group:
        yield f"{executor!r} has {task!r} of {task.executor!r} in hand"
    if task.row not in (*_IN_HAND, *_WORKED_ON):
        yield f"{executor!r} has {task!r} in hand"
    if task.row is TaskRow.FOLLOWING:
        yield from _follower(executor, task)
    if task.row is TaskRow.TIMED_OUT and not (
        executor.recalling or executor.dying or executor.grace_ends < inf
    ):
        yield f"{executor!r} goes on with {task!r}"
    if task.row is TaskRow.EVICTED and not executor.dying:
        yield f"{executor!r} goes on with {task!r}"
    if task.row is TaskRow.CANCELLING:
        if not (executor.recalling or executor.dying or executor.grace_ends < inf):
            yield f"{executor!r} goes on with {task!r}"
        if task.session.tasks.get(task.id) is task:
            yield f"{task!r} is wanted by nobody, but listed"
    if task.row is TaskRow.RUNNING and task is not executor.calls[0]:
        yield f"{executor!r} cannot run {task!r} yet"


def _follower(executor: Executor, task: Task) -> Iterator[str]:
    """Calls before a follower make its missing inputs, unless these calls have failed since."""
    for target in task.inputs:
        if target.row is ObjectRow.MAKING and target.producer is not None:
            before = executor.calls
            if target.producer in before and before.index(target.producer) > before.index(task):
                yield f"{executor!r} comes to {task!r} before {target.producer!r}"


def _order(session: Session) -> Iterator[str]:
    ready = [task for task in session.tasks.values() if task.row is TaskRow.READY]
    ready.sort(key=lambda task: task.rank)
    priorities = [task.kind.kind.priority for task in ready]
    if not session.unordered and priorities != sorted(priorities, reverse=True):
        yield f"the ready tasks of session {session.id} have the priorities {priorities}"
    if session.has_priorities != any(known.kind.priority for known in session.task_kinds.values()):
        yield f"session {session.id} does not know whether its tasks have priorities"


def _group(state: State, group: ReadyGroup) -> Iterator[str]:
    ready = sum(task.row is TaskRow.READY for task in group.entries())
    if ready != group.count:
        yield f"the group {group.runner!r} {group.resources} has {ready} ready, not {group.count}"
    if any(executor.group is not group for executor in group.leased):
        yield f"the group {group.runner!r} {group.resources} leases what it does not have"
    kinds = sum(
        kind.group is group
        for session in state.sessions.values()
        for kind in session.task_kinds.values()
    )
    kinds += sum(
        task.group is group and task.kind.group is not group
        for session in state.sessions.values()
        for task in session.tasks.values()
    )
    if kinds != group.kinds:
        yield f"the group {group.runner!r} {group.resources} has {kinds} kinds, not {group.kinds}"


def _resources(state: State) -> Iterator[str]:
    free = FreeResources(state.capacity)
    for executor in state.pool.executors.values():
        if executor.group is not None:
            free.take(executor.group.resources)
            if executor.blocked_depth >= 0:
                free.lend(executor.group.resources)
    for task in state.dispatch.runs.values():
        if task.row not in _WORKED_ON:
            yield f"{task!r} is said to run inside the governor"
        free.take(task.group.resources)
    now, others = state.pool.free, dict(free.others)
    free.withhold(now.withheld)
    if (free.slots, free.cpus, free.others) != (now.slots, now.cpus, now.others):
        yield f"free are {free.slots} slots and {free.cpus} cpus, not {now.slots} and {now.cpus}"
    has_lent = any(executor.has_lent for executor in state.pool.executors.values())
    overdrawn = (free.slots < 0 or free.cpus < 0) and not has_lent
    if has_lent:
        others.pop(MEMORY, None)
    if overdrawn or any(amount < 0 for amount in others.values()):
        yield "more resources are taken than there are"
    yield from _gpus(state)


def _gpus(state: State) -> Iterator[str]:
    lent = [name for gpus in state.dispatch.gpus_of_runs.values() for name in gpus]
    for executor in state.pool.executors.values():
        count = 0 if executor.group is None else executor.group.gpus
        if len(executor.gpus) != count:
            yield f"{executor!r} has the gpus {executor.gpus}, and should have {count}"
        lent += executor.gpus
    for run, gpus in state.dispatch.gpus_of_runs.items():
        if run not in state.dispatch.runs or len(gpus) != state.dispatch.runs[run].group.gpus:
            yield f"the run {run} has the gpus {gpus}"
    gpus_here = state.pool.gpus
    if sorted([*lent, *gpus_here.free]) != sorted(gpus_here.names):
        yield f"of the gpus {gpus_here.names}, {lent} are lent and {gpus_here.free} are free"
