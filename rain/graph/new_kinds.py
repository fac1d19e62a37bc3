"""The kinds of tasks and objects that a submission brings, and those that its nodes name."""

from __future__ import annotations

from collections.abc import Container

from attrs import evolve

from rain.base.errors import RefusedError
from rain.base.exchange import EXCHANGE, LISTED
from rain.base.ids import NO_SESSION, KindId, TaskId, session_of, spell
from rain.base.kinds import ObjectKind, TaskKind
from rain.base.wire.submission import Submission
from rain.graph import lateness
from rain.graph.graph import Graph
from rain.graph.session import Session


class NewKinds:
    """The kinds of one submission before they are linked into the session."""

    def __init__(self, session: Session, submission: Submission) -> None:
        self._session = session
        self._submission = submission
        self._of_tasks: dict[KindId, TaskKind] = {}
        self._of_objects: dict[KindId, ObjectKind] = {}

    def read(self, depth: int, *, forgiving: bool) -> None:
        """Reads them for a member of this depth. Forgiving: they may be in the session already."""
        session = self._session
        known_tasks: Container[KindId] = () if forgiving else session.task_kinds
        known_objects: Container[KindId] = () if forgiving else session.object_kinds
        for kind in self._submission.object_kinds:
            check_session(session, "data object kind", kind.id)
            _check_new("data object kind", kind.id, known_objects, self._of_objects)
            self._of_objects[kind.id] = kind
        for task_kind in self._submission.task_kinds:
            check_session(session, "task kind", task_kind.id)
            _check_new("task kind", task_kind.id, known_tasks, self._of_tasks)
            self._check_exchange(task_kind)
            root = session.root if depth else NO_SESSION
            is_so = depth == task_kind.depth and root == task_kind.root
            known = task_kind if is_so else evolve(task_kind, depth=depth, root=root)
            self._of_tasks[task_kind.id] = known

    def of_task(self, kind_id: KindId, task_id: TaskId) -> tuple[TaskKind, list[ObjectKind]]:
        """The kind of a task, and those of its outputs."""
        kind = self._of_tasks.get(kind_id) or self._session.task_kinds.get(kind_id)
        if kind is None:
            raise RefusedError(f"the task {spell(task_id)} is of the unknown kind {spell(kind_id)}")
        return kind, [self.of_object(output) for output in kind.outputs]

    def of_object(self, kind_id: KindId) -> ObjectKind:
        """The kind of an object."""
        kind = self._of_objects.get(kind_id) or self._session.object_kinds.get(kind_id)
        if kind is None:
            raise RefusedError(f"the data object kind {spell(kind_id)} is unknown")
        return kind

    def verify(self) -> None:
        """Checks that the session has none of them yet."""
        for kind in self._of_objects:
            _check_new("data object kind", kind, self._session.object_kinds)
        for kind in self._of_tasks:
            _check_new("task kind", kind, self._session.task_kinds)

    def link(self, graph: Graph) -> None:
        """Makes them kinds of the session."""
        session = self._session
        session.object_kinds |= self._of_objects
        session.task_kinds |= self._of_tasks
        for kind in self._of_tasks.values():
            session.learned[kind.id] = graph.learned_of(kind)
            session.has_priorities = session.has_priorities or kind.priority != 0
            if kind.idempotent:
                lateness.add_group(graph, session, kind)
            if kind.task_type == EXCHANGE:
                graph.has_exchanges = True

    def _check_exchange(self, kind: TaskKind) -> None:
        outputs = [self.of_object(output) for output in kind.outputs]
        if kind.task_type != EXCHANGE:
            return
        makes_list = [one.content_type for one in outputs] == [LISTED]
        if not makes_list or kind.idempotent:
            raise RefusedError(
                f"the task kind {spell(kind.id)} is an exchange: it makes one list,"
                f" of the content type {LISTED!r}, and does not run twice at a time"
            )


def check_session(session: Session, what: str, packed: int) -> None:
    """Checks that a new node or kind belongs to the session of its submission."""
    if session_of(packed) != session.id:
        raise RefusedError(
            f"the {what} {spell(packed)} does not belong to the session {session.id}"
        )


def _check_new(what: str, kind: KindId, *known: Container[KindId]) -> None:
    if any(kind in kinds for kinds in known):
        raise RefusedError(f"the {what} {spell(kind)} is defined twice")
