"""Waiting: what a session asks about its tasks and objects, and what the answers say of them."""

from collections.abc import Callable, Sequence

from rain.base.ids import SessionId
from rain.base.wire import WaitAnswer
from rain.client.connection import Asking, Connection
from rain.client.data import DataObject
from rain.client.failure import noting_failure
from rain.client.items import (
    asked_ids,
    has_failed,
    is_among,
    is_unfinished,
    mark_done,
    mark_finished,
)
from rain.client.outgoing import Outgoing
from rain.client.results import ResultStore
from rain.client.rpc.common import TaskState
from rain.client.task import Task
from rain.common.errors import TimeoutException

Connect = Callable[[], Connection]
"""Gives the connection, or raises if the session is closed: not before somebody has to be asked."""


class Waiting:
    """The waits of one session."""

    def __init__(
        self, session_id: int, outgoing: Outgoing, results: ResultStore, asking: Asking
    ) -> None:
        self._session_id = SessionId(session_id)
        self._outgoing = outgoing
        self._results = results
        self._asking = asking

    def for_all(
        self,
        connect: Connect,
        tasks: Sequence[Task],
        objects: Sequence[DataObject],
        timeout: float | None,
    ) -> None:
        """Until all are finished."""
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
        """Until one is finished, or the time is over; those that are."""
        ids: set[int] = {task.packed_id for task in tasks if task.state is TaskState.finished}
        ids.update(obj.packed_id for obj in objects if not is_unfinished(obj))
        failed_ids: set[int] = set()
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
        done = (
            [task for task in tasks if is_among(task, ids)],
            [obj for obj in objects if is_among(obj, ids)],
        )
        mark_done(*done, failed_ids)
        return done

    def ask(
        self,
        connection: Connection,
        tasks: Sequence[Task],
        objects: Sequence[DataObject],
        mode: str,
        timeout: float | None,
    ) -> WaitAnswer:
        """One wait on the server; the results that come with its answer are kept here."""
        if self._outgoing.has_units:
            task_ids, object_ids = asked_ids(tasks, objects)
        else:
            task_ids = [task.packed_id for task in tasks]
            object_ids = [obj.packed_id for obj in objects]
        with self._asking:
            try:
                answer = connection.wait(self._session_id, task_ids, object_ids, mode, timeout)
            except TimeoutError:
                raise TimeoutException(
                    f"What was waited for is not finished after {timeout} seconds"
                ) from None
        self._results.take_in(answer.delivery)
        return answer
