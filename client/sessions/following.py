"""The methods of a session for submitted tasks: waits, cancels, states and output."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from rain.base.errors import RainError
from rain.base.failures import OnFailure
from rain.base.ids import SessionId
from rain.base.wire.answers import TaskMemory, TaskReport
from rain.base.wire.grace import OWN_GRACE, check_seconds
from rain.base.wire.requests import Cancel, ReportsOf
from rain.client.data import DataObject
from rain.client.display.showing import LINES_PER_SECOND
from rain.client.explaining.tracebacks import hides_frames
from rain.client.items import asked_ids, submitted_items
from rain.client.results import ResultStore
from rain.client.session_options import SessionOptions
from rain.client.sessions.building import Building
from rain.client.sessions.waiting import Waiting
from rain.client.task import Task
from rain.common.errors import RainException
from rain.common.running import in_a_task

if TYPE_CHECKING:
    from rain.client.client import Client


class Following(Building):
    """Waits for tasks and data objects that were submitted, and cancels them."""

    def __init__(self, client: "Client | None", session_id: int, options: SessionOptions) -> None:
        super().__init__(client, session_id, options)
        self.on_failure = options.on_failure
        self.finished_submissions = 0  # all of these submits are known to be finished
        self._results = ResultStore()
        self._waiting = Waiting(session_id, self._outgoing, self._results, self._asking)

    @hides_frames
    def wait(self, items: Iterable[Task | DataObject], timeout: float | None = None) -> None:
        """Waits until all items are finished.

        Raises `TaskException` if one of them fails, `TimeoutException` after `timeout` seconds.

        >>> text = tasks.Concat((blob("ra"), blob("in")))
        >>> session.submit()
        >>> session.wait([text], timeout=60)
        >>> text.state.name
        'finished'
        """
        tasks, objects = submitted_items(self, items)
        try:
            self._waiting.for_all(self._connection, tasks, objects, timeout)
        except KeyboardInterrupt:
            self._cancel(tasks, objects)
            raise

    @hides_frames
    def wait_some(
        self, items: Iterable[Task | DataObject], timeout: float | None = None
    ) -> tuple[list[Task], list[DataObject]]:
        """Waits until at least one item is finished; gives the finished tasks and objects.

        In a session that goes on after failures, failed items are among them; look at their
        `state`. Without items it returns at once. Both lists are empty if the timeout comes first.

        >>> slow = tasks.Sleep(blob("x"), 600)
        >>> fast = tasks.Concat((blob("ra"), blob("in")))
        >>> session.submit()
        >>> done, _ = session.wait_some([slow, fast])
        >>> done == [fast]
        True
        """
        tasks, objects = submitted_items(self, items)
        try:
            return self._waiting.for_some(self._connection, tasks, objects, timeout)
        except KeyboardInterrupt:
            self._cancel(tasks, objects)
            raise

    @hides_frames
    def wait_all(self, timeout: float | None = None) -> None:
        """Waits until every submitted task of the session is finished.

        >>> texts = [tasks.Concat((blob("ra"), blob("in"))) for _ in range(3)]
        >>> session.submit()
        >>> session.wait_all()
        >>> [text.state.name for text in texts]
        ['finished', 'finished', 'finished']
        """
        connection = self._connection()
        submits = self._outgoing.submits
        if self.finished_submissions < submits:
            try:
                answer = self._waiting.ask(connection, (), (), "session", timeout)
            except KeyboardInterrupt:
                self._cancel((), (), whole=True)
                raise
            if not answer.failed:  # else some tasks are done without being finished
                self.finished_submissions = max(self.finished_submissions, submits)
                if submits == self._outgoing.submits:
                    self._outgoing.history.forget_left()

    def cancel(
        self,
        items: Iterable[Task | DataObject],
        recursive: bool = True,
        grace: float | None = None,
    ) -> None:
        """Cancels tasks, and those that make the objects, also when they run already.

        Tasks that need their results are cancelled with them, and so are tasks whose results
        nobody else needs or keeps. A wait for one of them raises `TaskException`. What is done
        stays as it is.

        In a Python function that runs, `KeyboardInterrupt` is raised, and a program gets SIGINT, so
        both may clean up for `grace` seconds; then they are killed. Their cpus are free when they
        have ended.

        Only the client that opened the session may cancel, and only if it goes on after failures.

        >>> slow = tasks.Sleep(blob("x"), 600)
        >>> session.submit()
        >>> session.cancel([slow])
        >>> try:
        ...     slow.wait()
        ... except CancelledError:
        ...     print("cancelled")
        cancelled

        Args:
            items: tasks and data objects of this session.
            recursive: whether what a task has submitted while it ran ends with it. If not, it goes
                on to its own end.
            grace: seconds for those that run, 0 to kill them at once. If it is not said, as many as
                `rain governor --cancel-grace` says.
        """
        check_seconds(grace)
        tasks, objects = submitted_items(self, items)
        connection = self._connection()
        if not self._owned:
            raise RainException(f"{self!r} was opened by another client, which alone may cancel")
        if self.on_failure is not OnFailure.CONTINUE:
            raise RainException(
                f"{self!r} stops at its first failure, so nothing of it can be cancelled alone:"
                ' open it with new_session(on_failure="continue"), or close it'
            )
        with self._asking:
            connection.say(
                Cancel(
                    SessionId(self.session_id),
                    *asked_ids(tasks, objects),
                    always=True,
                    recursive=recursive,
                    grace=OWN_GRACE if grace is None else grace,
                )
            )

    def show_output(self, on: bool = True, *, lines_per_second: float = LINES_PER_SECOND) -> None:
        """Shows here what the tasks of this session print, while they run.

        The arguments are those of `Client.show_output`.

        >>> session.show_output()
        >>> session.show_output(False)
        """
        self._connection()
        assert self.client is not None  # else there was no connection
        with self._asking:
            self.client.showing.show_one(self.session_id, on, lines_per_second)

    def logs(self, task: Task) -> str:
        """The output of a task (see `Task.logs`).

        >>> @remote()
        ... def talk(ctx):
        ...     print("hello")
        ...     return ""
        >>> task = talk()
        >>> session.submit()
        >>> task.wait()
        >>> session.logs(task)
        'hello\\n'
        """
        return self._live(task).logs

    def memory(self, task: Task) -> TaskMemory | None:
        """The memory of a running task (see `Task.memory`).

        >>> text = tasks.Concat((blob("ra"), blob("in")))
        >>> session.submit()
        >>> text.wait()
        >>> session.memory(text) is None
        True
        """
        return self._live(task).memory or None

    def _live(self, task: Task) -> TaskReport:
        """The report of a task, with what its governor says if it runs."""
        submitted_items(self, [task])
        connection = self._connection()
        with self._asking:
            task_id = task.packed_id if task.unit is None else task.unit.task_id
            (report,), _ = connection.ask(ReportsOf((task_id,), (), logs=True))
            return report

    @hides_frames
    def update(self, items: Iterable[Task | DataObject]) -> None:
        """Refreshes states and infos of tasks and objects.

        >>> text = tasks.Concat((blob("ra"), blob("in")))
        >>> session.submit()
        >>> text.wait()
        >>> session.update([text])
        >>> text.info.duration is not None
        True
        """
        self._client().update(items)

    def _cancel(
        self, tasks: Sequence[Task], objects: Sequence[DataObject], *, whole: bool = False
    ) -> None:
        """A wait for this was interrupted, so it is cancelled if the session goes on after
        failures.

        In a task, a wait is interrupted because the task is cancelled. Then the server decides
        about what it has submitted.
        """
        if in_a_task():
            return
        if self.active and self.client is not None and self._owned:
            with suppress(RainError):  # the user sees the interruption
                wanted = asked_ids(tasks, objects)
                said = Cancel(SessionId(self.session_id), *wanted, whole=whole)
                self.client.connection.say(said)
