"""Waits for the tasks and objects of a session: its requests, and what it does with the answers."""

from collections.abc import Callable, Sequence
from math import inf
from time import monotonic

from rain.base.ids import SessionId
from rain.base.wire.answers import WaitAnswer
from rain.base.wire.requests import WaitFor
from rain.client.connection import Asking, Connection
from rain.client.data import DataObject
from rain.client.failure import noting_failure
from rain.client.guards import check_timeout
from rain.client.items import (
    asked_ids,
    has_failed,
    is_among,
    is_unfinished,
    mark_done,
    mark_finished,
)
from rain.client.results import Early, ResultStore
from rain.client.rpc.common import TaskState
from rain.client.sessions.outgoing import Outgoing
from rain.client.task import Task
from rain.common.errors import TimeoutException
from rain.common.running import waiting_for_tasks

NAMED_AT_MOST = 16
"""A wait for some of more items than this follows the session instead of sending all their ids
again.
"""

GLANCE = 0.01
"""Seconds for which the last news of a session is new enough if there is no need to wait. Without
this, a loop that takes one task after the other would send a request for each of them.
"""

Connect = Callable[[], Connection]
"""Gives the connection; raises if the session is closed. Asked only when it is needed."""


class SessionNews:
    """The news of a session that is followed: its tasks and objects that are done."""

    def __init__(self) -> None:
        self.count = 0  # of tasks that were told of
        self.failed: set[int] = set()
        self.cancelled: set[int] = set()
        self._done: set[int] = set()
        self._early = Early()

    def __len__(self) -> int:
        return len(self._done)

    def add(self, known: int, answer: WaitAnswer) -> None:
        """Adds an answer to a question that has named `known`; several threads may ask at once."""
        self._done.update(answer.tasks)
        self._done.update(answer.objects)
        self.failed.update(answer.failed)
        self.cancelled.update(answer.cancelled)
        self.count = max(self.count, known + len(answer.tasks))
        if self._early:
            for packed_id in (*answer.tasks, *answer.objects):
                if self._early.take(packed_id):
                    self._discard(packed_id)

    def forget(self, packed_id: int) -> None:
        """Nobody will ask for it. Called by finalizers: takes no lock."""
        if packed_id in self._done:
            self._discard(packed_id)
        else:
            self._early.note(packed_id)

    def _discard(self, packed_id: int) -> None:
        self._done.discard(packed_id)
        self.failed.discard(packed_id)
        self.cancelled.discard(packed_id)

    def done_among(
        self, tasks: Sequence[Task], objects: Sequence[DataObject]
    ) -> tuple[list[Task], list[DataObject]]:
        """Those that are known to be done."""
        done = self._done  # looked at first, since it has nearly all that are done
        return (
            [task for task in tasks if task.packed_id in done or self._has(task)],
            list(filter(self._has_object, objects)),
        )

    def knows_any(self, tasks: Sequence[Task], objects: Sequence[DataObject]) -> bool:
        """Whether at least one of them is known to be done."""
        return any(map(self._has, tasks)) or any(map(self._has_object, objects))

    def _has(self, task: Task) -> bool:
        return (
            task.packed_id in self._done
            or task.state is TaskState.finished
            or (task.unit is not None and task.unit.task_id in self._done)
        )

    def _has_object(self, obj: DataObject) -> bool:
        """Constants are left out: they are done when they are submitted."""
        return obj.constant is not None or not is_unfinished(obj) or is_among(obj, self._done)


class Waiting:
    """The waits of one session."""

    def __init__(
        self, session_id: int, outgoing: Outgoing, results: ResultStore, asking: Asking
    ) -> None:
        self._session_id = SessionId(session_id)
        self._outgoing = outgoing
        self._results = results
        self._asking = asking
        self.news = SessionNews()  # of tasks that nobody has named
        self._looked = -inf  # when the session was last asked for news

    def for_all(
        self,
        connect: Connect,
        tasks: Sequence[Task],
        objects: Sequence[DataObject],
        timeout: float | None,
    ) -> None:
        """Waits until all are finished."""
        open_tasks = [task for task in tasks if task.state is not TaskState.finished]
        open_objects = [obj for obj in objects if is_unfinished(obj) or has_failed(obj)]
        if open_tasks or open_objects:
            with noting_failure(open_tasks):
                self.ask(connect(), open_tasks, open_objects, "all", timeout)
            mark_finished(open_tasks, open_objects)

    def for_some(
        self,
        connect: Connect,
        tasks: Sequence[Task],
        objects: Sequence[DataObject],
        timeout: float | None,
    ) -> tuple[list[Task], list[DataObject]]:
        """Waits until one is finished, or the time is over; returns the finished ones."""
        check_timeout(timeout)
        if len(tasks) + len(objects) > NAMED_AT_MOST:
            return self._follow(connect, tasks, objects, timeout)
        ids: set[int] = {task.packed_id for task in tasks if task.state is TaskState.finished}
        ids.update(obj.packed_id for obj in objects if not is_unfinished(obj))
        failed_ids: set[int] = set()
        cancelled_ids: set[int] = set()
        if len(ids) < len(tasks) + len(objects):
            # The finished ones are named too: with them the server answers at once, and tells
            # what else is finished by now.
            try:
                with noting_failure(tasks):
                    answer = self.ask(connect(), tasks, objects, "some", timeout)
            except TimeoutError:
                pass
            else:
                ids.update(answer.tasks)
                ids.update(answer.objects)
                failed_ids.update(answer.failed)
                cancelled_ids.update(answer.cancelled)
        done = (
            [task for task in tasks if is_among(task, ids)],
            [obj for obj in objects if is_among(obj, ids)],
        )
        mark_done(*done, failed_ids, cancelled_ids)
        return done

    def _follow(
        self,
        connect: Connect,
        tasks: Sequence[Task],
        objects: Sequence[DataObject],
        timeout: float | None,
    ) -> tuple[list[Task], list[DataObject]]:
        """Waits for some of many items; asks only for those that the server has not reported."""
        news = self.news
        now = monotonic()
        end = inf if timeout is None else now + timeout
        mode = "news"
        if news.knows_any(tasks, objects):
            if now < self._looked + GLANCE:
                return self._found(tasks, objects)
            mode = "glance"
        while True:
            known = news.count
            left = None if end == inf else max(end - monotonic(), 0)
            over = mode == "glance"
            try:
                with noting_failure(tasks):
                    answer = self.ask(connect(), (), (), mode, left, known)
            except TimeoutError:
                over = True
            else:
                news.add(known, answer)
            self._looked = monotonic()
            if over or news.knows_any(tasks, objects):
                return self._found(tasks, objects)

    def _found(
        self, tasks: Sequence[Task], objects: Sequence[DataObject]
    ) -> tuple[list[Task], list[DataObject]]:
        """Those that are known to be done; they are marked as done."""
        done = self.news.done_among(tasks, objects)
        mark_done(*done, self.news.failed, self.news.cancelled)
        return done

    def ask(
        self,
        connection: Connection,
        tasks: Sequence[Task],
        objects: Sequence[DataObject],
        mode: str,
        timeout: float | None,
        since: int = 0,
    ) -> WaitAnswer:
        """One request to the server; the results that come with its answer are kept here."""
        check_timeout(timeout)
        if self._outgoing.has_units:
            task_ids, object_ids = asked_ids(tasks, objects)
        else:
            task_ids = tuple([task.packed_id for task in tasks])
            object_ids = tuple([obj.packed_id for obj in objects])
        with self._asking:
            try:
                with waiting_for_tasks():
                    answer = connection.ask(
                        WaitFor(self._session_id, task_ids, object_ids, mode, since), timeout
                    )
            except TimeoutError:
                raise TimeoutException(
                    f"The tasks and objects are not finished after {timeout} seconds"
                ) from None
        self._results.take_in(answer.delivery)
        return answer
