"""Meters users whose use of the cluster is limited: what their tasks use now, and which of them
wait for room (`quotas`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from heapq import heappop, heappush

from attrs import Factory, define

from rain.base.ids import TaskId
from rain.base.kinds import TaskKind
from rain.base.sizes import spell_size
from rain.base.states import TaskMove, TaskRow
from rain.base.users import UserRule, rule_of, spell_user
from rain.graph import Graph, Session, Task

BEGUN = frozenset(
    {
        TaskRow.AHEAD,
        TaskRow.ASSIGNED,
        TaskRow.ASKED,
        TaskRow.RUNNING,
        TaskRow.BLOCKED,
        TaskRow.CANCELLING,
    }
)
COUNTED = BEGUN | {TaskRow.READY, TaskRow.QUEUED}


@define
class Use:
    """The cpus that the tasks of a user use now."""

    cpus: int = 0
    by_session: Counter[Session] = Factory(Counter)


@define(eq=False)
class Quota:
    """The tasks of a limited user."""

    let_on: dict[Task, None] = Factory(dict)  # those that may run, or do
    # Those that are limited, in heaps: by session, and whether they read what tasks have made.
    waiting: dict[tuple[Session, bool], list[tuple[int, int, TaskId]]] = Factory(dict)

    def limit(self, task: Task) -> None:
        """A ready task waits for its turn."""
        task.move(TaskMove.LIMIT)
        entries = self.waiting.setdefault((task.session, reads(task)), [])
        heappush(entries, (-task.kind.priority, task.order, task.id))

    def forget(self, graph: Graph) -> None:
        """Tasks that have ended or wait again do not count any more."""
        over = [task for task in self.let_on if task.row not in COUNTED or not task.is_known]
        for task in over:
            del self.let_on[task]
        gone = [key for key in self.waiting if graph.sessions.get(key[0].id) is not key[0]]
        for key in gone:
            del self.waiting[key]

    def first(self, session: Session, *kinds: bool) -> Task | None:
        """The next task of a session; entries of tasks that are not limited any more mean
        nothing."""
        for kind in kinds or (True, False):
            entries = self.waiting.get((session, kind), [])
            while entries:
                task = _limited(session, entries[0][2])
                if task is not None:
                    return task
                heappop(entries)
        return None

    def limited(self) -> Iterator[Task]:
        """All that wait."""
        for (session, _), entries in self.waiting.items():
            for _, _, task_id in entries:
                task = _limited(session, task_id)
                if task is not None:
                    yield task

    def use(self, graph: Graph) -> Use:
        """A task that waits for others takes no cpus; a late one may have a second run."""
        use = Use()
        for task in self.let_on:
            if task.row not in COUNTED:
                continue
            cpus = 0 if task.row is TaskRow.BLOCKED else task.cpus
            if task in graph.shadows:
                cpus += task.cpus
            use.cpus += cpus
            use.by_session[task.session] += cpus
        return use


@define(eq=False)
class Metering:
    """The limited users that have had ready tasks."""

    is_on: bool = False  # the file of users limits what some user may use at a time
    quotas: dict[str, Quota] = Factory(dict)  # by user

    def is_metered(self, graph: Graph, task: Task) -> bool:
        """Whether the task may have to wait for others of its user."""
        return self.is_on and rule(graph, task.session).is_metered

    def has_room(self, graph: Graph, task: Task) -> bool:
        """Whether one more task like this could run now."""
        if not self.is_metered(graph, task):
            return True
        most = rule(graph, task.session).cpus
        return not is_full(graph, task.session) and (
            not most or self._taken(graph, task.session) + task.cpus <= most
        )

    def why(self, graph: Graph, task: Task) -> str:
        """The reason why a limited task waits."""
        session = task.session
        user, its_rule = spell_user(session.belongs_to), rule(graph, session)
        if is_full(graph, session) and not reads(task):
            return (
                f"{user} stores {spell_size(stored_of(graph, session.belongs_to))}, and may store"
                f" {spell_size(its_rule.bytes)} (bytes in the file of users): the task waits until"
                " some of that is released"
            )
        taken = self._taken(graph, session)
        return (
            f"{user} uses {taken} of {its_rule.cpus} cpus (cpus in the file of users): the task"
            f" waits for {task.cpus} of them"
        )

    def why_in(self, graph: Graph, session: Session) -> str:
        """The reason why the first limited task of a session waits; "" if there is none."""
        quota = self.quotas.get(session.belongs_to)
        if quota is None:
            return ""
        for where, _ in list(quota.waiting):
            if where is session or where.root == session.id:
                task = quota.first(where)
                if task is not None:
                    return self.why(graph, task)
        return ""

    def contradictions(self, graph: Graph) -> Iterator[str]:
        """The contradictions in the state; none, unless there is a bug."""
        noted = {task for quota in self.quotas.values() for task in quota.let_on}
        waiting = {task for quota in self.quotas.values() for task in quota.limited()}
        for session in graph.sessions.values():
            metered = self.is_on and rule(graph, session).is_metered
            for task in session.tasks.values():
                if task.row is TaskRow.LIMITED and task not in waiting:
                    yield f"{task!r} is limited, and nothing ends that"
                shadow = task in graph.shadowed
                if metered and task.row in COUNTED and not shadow and task not in noted:
                    yield f"{task!r} is {task.row.value}, and does not count for its user"

    def _taken(self, graph: Graph, session: Session) -> int:
        quota = self.quotas.get(session.belongs_to)
        return 0 if quota is None else quota.use(graph).cpus


def rule(graph: Graph, session: Session) -> UserRule:
    """What the user of a session may use."""
    return rule_of(graph.users, session.belongs_to)


def never_fits(graph: Graph, session: Session, kind: TaskKind) -> str:
    """Why tasks of this kind can never run for the user of the session; "" if they can."""
    most, cpus = rule(graph, session).cpus, kind.resources.cpus
    if not most or cpus <= most:
        return ""
    return (
        f"{kind.spelled} needs cpus={cpus}, and {spell_user(session.belongs_to)} may have"
        f" {most} at a time (cpus in the file of users)"
    )


def stored_of(graph: Graph, user: str) -> int:
    """The bytes of all objects of a user, each counted once."""
    return sum(one.stored for one in graph.sessions.values() if one.belongs_to == user)


def is_full(graph: Graph, session: Session) -> bool:
    """Whether its user stores as much as allowed."""
    most = rule(graph, session).bytes
    return bool(most) and stored_of(graph, session.belongs_to) >= most


def reads(task: Task) -> bool:
    """Whether the task reads an output of another task, which may be released afterwards."""
    return any(one.producer is not None for one in task.inputs)


def _limited(session: Session, task_id: TaskId) -> Task | None:
    task = session.tasks.get(task_id)
    return task if task is not None and task.row is TaskRow.LIMITED else None
