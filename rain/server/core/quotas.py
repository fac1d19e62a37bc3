"""Limits how many cpus one user's tasks may use at a time, and how many bytes one user may store.

A ready task of a user at a limit is *limited*: it has no plan, and no scheduler sees it until there
is room again. So the limits hold with every scheduler. Other ready tasks count with their cpus from
the turn in which they are ready until they have ended, except while they wait for other tasks.

A user at the limit of bytes starts nothing new. But tasks that read outputs of other tasks go on,
since these outputs may be released when they have ended.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from heapq import heappop, heappush

from attrs import Factory, define

from rain.base.failures import SessionFailure
from rain.base.ids import TaskId, spell
from rain.base.kinds import TaskKind
from rain.base.runs import RunCause
from rain.base.sizes import spell_size
from rain.base.states import TaskMove, TaskRow
from rain.base.users import UserRule, rule_of, spell_user
from rain.graph import Session, Task, planning
from rain.graph.run import Ending
from rain.server.core import failing
from rain.server.core.feasibility import spelled_kind
from rain.server.core.state import Quota, State

_FRESH = (TaskRow.READY, TaskRow.QUEUED)
_BEGUN = frozenset(
    {
        TaskRow.AHEAD,
        TaskRow.ASSIGNED,
        TaskRow.ASKED,
        TaskRow.RUNNING,
        TaskRow.BLOCKED,
        TaskRow.CANCELLING,
    }
)
_COUNTED = _BEGUN | {*_FRESH}


@define
class _Use:
    """The cpus that the tasks of a user use now."""

    cpus: int = 0
    by_session: Counter[Session] = Factory(Counter)


def rules_changed(state: State) -> None:
    """The file of users was read again: limits hold for what starts from now on."""
    state.meters = any(rule.is_metered for rule in state.graph.users.values())
    again = {task for quota in state.quotas.values() for task in _waiting(quota)}
    state.quotas = {}
    for task in sorted(again, key=lambda task: task.order):
        task.move(TaskMove.END_LIMIT)
        state.news.unplanned[task] = None
    if state.meters:
        for session in state.graph.sessions.values():
            if _rule(state, session).is_metered:
                _take_in(state, session.tasks.values())


def apply(state: State) -> None:
    """Limits tasks that have become ready, and lets those run for which there is room now."""
    news = state.news
    for quota in state.quotas.values():
        _forget(state, quota)
    for tasks in (news.submitted, news.ready, news.unplanned):
        _take_in(state, tasks)
    announced = {*news.submitted}
    for user, quota in state.quotas.items():
        for task in _let_on(state, user, quota):
            if task not in announced:
                news.unplanned[task] = None
    if any(quota.waiting for quota in state.quotas.values()):
        news.submitted = [task for task in news.submitted if task.row is not TaskRow.LIMITED]
        news.ready = [task for task in news.ready if task.row is not TaskRow.LIMITED]
        for task in [task for task in news.unplanned if task.row is TaskRow.LIMITED]:
            del news.unplanned[task]


def is_metered(state: State, task: Task) -> bool:
    """Whether the task may have to wait for others of its user."""
    return state.meters and _rule(state, task.session).is_metered


def has_room(state: State, task: Task) -> bool:
    """Whether one more task like this could run now."""
    if not is_metered(state, task):
        return True
    rule, quota = _rule(state, task.session), state.quotas.get(task.session.belongs_to)
    taken = 0 if quota is None else _use(state, quota).cpus
    return (not rule.cpus or taken + task.cpus <= rule.cpus) and not _is_full(state, task.session)


def never_fits(state: State, session: Session, kind: TaskKind) -> str:
    """Why tasks of this kind can never run for the user of the session; "" if they can."""
    most, cpus = _rule(state, session).cpus, kind.resources.cpus
    if not most or cpus <= most:
        return ""
    return (
        f"{spelled_kind(kind)} needs cpus={cpus}, and {spell_user(session.belongs_to)} may have"
        f" {most} at a time (cpus in the file of users)"
    )


def why(state: State, task: Task) -> str:
    """The reason why a limited task waits."""
    session = task.session
    user, rule = spell_user(session.belongs_to), _rule(state, session)
    if _is_full(state, session) and not _reads(task):
        return (
            f"{user} stores {spell_size(stored_of(state, session.belongs_to))}, and may store"
            f" {spell_size(rule.bytes)} (bytes in the file of users): the task waits until some of"
            " that is released"
        )
    quota = state.quotas.get(session.belongs_to)
    taken = 0 if quota is None else _use(state, quota).cpus
    return (
        f"{user} uses {taken} of {rule.cpus} cpus (cpus in the file of users): the task waits for"
        f" {task.cpus} of them"
    )


def of_session(state: State, session: Session) -> str:
    """The reason why the first limited task of a session waits; "" if there is none."""
    quota = state.quotas.get(session.belongs_to)
    if quota is None:
        return ""
    for where, _ in list(quota.waiting):
        if where is session or where.root == session.id:
            task = _first(quota, where)
            if task is not None:
                return why(state, task)
    return ""


def stored_of(state: State, user: str) -> int:
    """The bytes of all objects of a user, each counted once."""
    sessions = state.graph.sessions.values()
    return sum(session.stored for session in sessions if session.belongs_to == user)


def contradictions(state: State) -> Iterator[str]:
    """The contradictions in the state; none, unless there is a bug."""
    noted = {task for quota in state.quotas.values() for task in quota.let_on}
    waiting = {task for quota in state.quotas.values() for task in _waiting(quota)}
    for session in state.graph.sessions.values():
        metered = state.meters and _rule(state, session).is_metered
        for task in session.tasks.values():
            if task.row is TaskRow.LIMITED and task not in waiting:
                yield f"{task!r} is limited, and nothing ends that"
            shadow = task in state.graph.shadowed
            if metered and task.row in _COUNTED and not shadow and task not in noted:
                yield f"{task!r} is {task.row.value}, and does not count for its user"


def _rule(state: State, session: Session) -> UserRule:
    return rule_of(state.graph.users, session.belongs_to)


def _is_full(state: State, session: Session) -> bool:
    most = _rule(state, session).bytes
    return bool(most) and stored_of(state, session.belongs_to) >= most


def _reads(task: Task) -> bool:
    """Whether the task reads an output of another task, which may be released afterwards."""
    return any(one.producer is not None for one in task.inputs)


def _forget(state: State, quota: Quota) -> None:
    """Tasks that have ended or wait again do not count any more."""
    over = [task for task in quota.let_on if task.row not in _COUNTED or not task.is_known]
    for task in over:
        del quota.let_on[task]
    gone = [key for key in quota.waiting if state.graph.sessions.get(key[0].id) is not key[0]]
    for key in gone:
        del quota.waiting[key]


def _take_in(state: State, tasks: Iterable[Task]) -> None:
    """Those that are ready wait for their turn; what was begun counts."""
    for task in list(tasks):
        session = task.session
        if task.row not in _COUNTED or not _rule(state, session).is_metered or not task.is_known:
            continue
        quota = state.quotas.setdefault(session.belongs_to, Quota())
        if task in quota.let_on:
            continue
        if task.row in _BEGUN:
            if task not in state.graph.shadowed:
                quota.let_on[task] = None
            continue
        reason = never_fits(state, session, task.kind)
        if reason:
            message = f"the task {spell(task.id)} cannot run: {reason}"
            failing.give_up(state, task, SessionFailure(message, task=task.id))
            continue
        if task.row is TaskRow.QUEUED:
            planning.withdraw(task, Ending(state.now, RunCause.TAKEN_BACK))
        task.move(TaskMove.LIMIT)
        entries = quota.waiting.setdefault((session, _reads(task)), [])
        heappush(entries, (-task.kind.priority, task.order, task.id))


def _let_on(state: State, user: str, quota: Quota) -> Iterator[Task]:
    """The tasks of a user for which there is room, those of deeper tasks first.

    The sessions of a user get equal parts. A large task is not passed by smaller ones, so that it
    gets its turn.
    """
    if not quota.waiting:
        return
    rule, use = rule_of(state.graph.users, user), _use(state, quota)
    full = bool(rule.bytes) and stored_of(state, user) >= rule.bytes
    while True:
        heads = [
            (key, task)
            for key in list(quota.waiting)
            if (key[1] or not full) and (task := _first(quota, *key)) is not None
        ]
        if not heads:
            break
        key, task = min(heads, key=lambda head: _place(use, head[1]))
        if rule.cpus and task.cpus and use.cpus + task.cpus > rule.cpus:
            break
        heappop(quota.waiting[key])
        task.move(TaskMove.END_LIMIT)
        quota.let_on[task] = None
        use.cpus += task.cpus
        use.by_session[task.session] += task.cpus
        yield task
    for key in [key for key, entries in quota.waiting.items() if not entries]:
        del quota.waiting[key]


def _place(use: _Use, task: Task) -> tuple[int, int, int, int]:
    session = task.session
    return -task.kind.depth, use.by_session[session], -task.kind.priority, task.order


def _first(quota: Quota, session: Session, reads: bool | None = None) -> Task | None:
    """The next task of a session; entries of tasks that are not limited any more mean nothing."""
    for key in ((session, True), (session, False)) if reads is None else ((session, reads),):
        entries = quota.waiting.get(key, [])
        while entries:
            task = _limited(session, entries[0][2])
            if task is not None:
                return task
            heappop(entries)
    return None


def _limited(session: Session, task_id: TaskId) -> Task | None:
    task = session.tasks.get(task_id)
    return task if task is not None and task.row is TaskRow.LIMITED else None


def _waiting(quota: Quota) -> Iterator[Task]:
    for (session, _), entries in quota.waiting.items():
        for _, _, task_id in entries:
            task = _limited(session, task_id)
            if task is not None:
                yield task


def _use(state: State, quota: Quota) -> _Use:
    """A task that waits for others takes no cpus; a late one may have a second run."""
    use, shadows = _Use(), state.graph.shadows
    for task in quota.let_on:
        if task.row not in _COUNTED:
            continue
        cpus = 0 if task.row is TaskRow.BLOCKED else task.cpus
        if task in shadows:
            cpus += task.cpus
        use.cpus += cpus
        use.by_session[task.session] += cpus
    return use
