"""Sessions: what a program builds, submits, waits for and fetches belongs to one."""

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rain.base.errors import RainError
from rain.base.failures import OnFailure
from rain.base.ids import ObjectId, SessionId, TaskId, pack
from rain.base.wire.answers import WaitAnswer
from rain.base.wire.grace import OWN_GRACE
from rain.base.wire.requests import Cancel, OverviewOf, ReportsOf, Submit, TakeHandles, Unkeep
from rain.base.wire.submission import Submission
from rain.client import active
from rain.client.active import get_active_session
from rain.client.building import Building
from rain.client.connection import Connection
from rain.client.data import DataObject, to_dataobj
from rain.client.environments import Env, SessionEnvironments
from rain.client.failure import noting_failure
from rain.client.fetching import Fetching, checked_range
from rain.client.grace import check_grace
from rain.client.handles import submitted_object
from rain.client.items import (
    asked_ids,
    expect_fetchable,
    expect_object,
    mark_finished,
    not_computable,
    submitted_items,
)
from rain.client.large_arguments import LargeArguments
from rain.client.numbers import SharedNumbers
from rain.client.pictures import asked, session_picture
from rain.client.results import ResultStore
from rain.client.rpc.common import DataObjectState, TaskState
from rain.client.shapes import ObjectShape
from rain.client.showing import LINES_PER_SECOND
from rain.client.task import Task
from rain.client.tracebacks import hides_frames
from rain.client.unit import Unit
from rain.client.waiting import Waiting
from rain.common.attributes import SessionSpec
from rain.common.data_instance import DataInstance
from rain.common.errors import RainException
from rain.common.running import in_a_task

if TYPE_CHECKING:
    from io import BufferedReader

    from rain.client.client import Client

__all__ = ["Session", "get_active_session"]

CLOSED = "Session is closed"


class Session(Building):
    """A graph of tasks and data objects, separate from the graphs of other sessions.

    `Client.new_session` makes one. `with session:` makes it the active session, to which new tasks
    belong, and closes it at the end. Without a client it builds graphs that cannot be submitted.

    >>> with client.new_session("greeting") as session:
    ...     text = tasks.Concat((blob("ra"), blob("in")))
    ...     session.compute(text).get_str()
    'rain'
    """

    def __init__(
        self,
        client: "Client | None",
        session_id: int,
        default: bool = False,
        name: str = "",
        on_failure: OnFailure = OnFailure.STOP,
        numbers: SharedNumbers | None = None,
        fuse: bool = False,
        is_durable: bool = False,
        idempotent: bool = False,
        env: Env | None = None,
    ) -> None:
        super().__init__(
            client,
            session_id,
            numbers,
            fuse=fuse,
            is_durable=is_durable,
            idempotent=idempotent,
        )
        self.spec = SessionSpec(name)
        self.on_failure = on_failure
        # Read and changed by tasks and data objects.
        self.finished_submissions = 0  # all of these submits are known to be finished
        self.environments = SessionEnvironments(self, env)
        self.large_arguments = LargeArguments(self, "pickled(value)")  # of remote functions
        self._results = ResultStore()
        self._waiting = Waiting(session_id, self._outgoing, self._results, self._asking)
        self._fetching = Fetching(self._waiting, self._results, self._asking)
        if default:
            self.set_as_default()

    # The active session.

    def __enter__(self) -> Self:
        self._expect_active()
        active.push(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        active.pop(self)
        self.close()

    @contextmanager
    def bind_only(self) -> Generator[Self]:
        """A context in which the session is the active one; it stays open at the end.

        >>> other = client.new_session("stays open")
        >>> with other.bind_only():
        ...     text = tasks.Concat((blob("ra"), blob("in")))
        >>> other.compute(text).get_str()
        'rain'
        >>> other.close()
        """
        self._expect_active()
        active.push(self)
        try:
            yield self
        finally:
            active.pop(self)

    def set_as_default(self) -> None:
        """Makes this the session that is used wherever no other session is active.

        >>> other = client.new_session("for all cells of a notebook")
        >>> other.set_as_default()
        >>> other.close()
        """
        active.set_default(self)

    def close(self) -> None:
        """Ends the session: its tasks are stopped and its data is deleted.

        >>> other = client.new_session("short")
        >>> other.close()
        >>> other.active
        False
        """
        if not self.active:
            return
        self.leave()
        if self.client is None:
            return
        if self._owned:
            self.client.end_session(SessionId(self.session_id))
        elif self._lent:
            with suppress(RainError):  # it has failed or ended: then nothing is kept any more
                self.client.connection.ask(Unkeep(tuple(map(ObjectId, self._lent))))

    def leave(self) -> None:
        """The session is not used here any more, and the server knows that."""
        self.active = False
        active.drop_default(self)
        self._outgoing.clear()
        self._results.clear()
        self.functions.clear()

    # Handles that were collected.

    def drop(self, packed_id: ObjectId, *, kept: bool, made: bool) -> None:
        """The handle of a submitted object was collected. Called by a finalizer."""
        if not self.active and self._owned:  # else the session may go on without this client
            return
        if made and self._waiting.follows:
            self._waiting.forget(packed_id)
        if kept:
            self._results.drop(packed_id)
            self._lent.discard(packed_id)
        if self.client is not None:
            self.client.housekeeper.drop(packed_id, holds_data=kept)

    def drop_task(self, packed_id: TaskId, state: TaskState | None) -> None:
        """The same of a submitted task."""
        if not self.active and self._owned:
            return
        self._outgoing.history.leave(packed_id, finished=state is TaskState.finished)
        if self._waiting.follows:
            self._waiting.forget(packed_id)
        if self.client is not None:
            self.client.housekeeper.drop_task(packed_id)

    def drop_member(self, unit: Unit, packed_id: TaskId, state: TaskState | None) -> None:
        """The same of a task in a unit, which goes with the last of its handles."""
        unit.handles.discard(packed_id)
        if not unit.handles and (self.active or not self._owned):
            self._outgoing.history.leave_unit(unit, finished=state is TaskState.finished)
            self.drop_task(unit.task_id, state)

    # Objects of others.

    def data_object(self, object_id: Sequence[int], *, keep: bool = False) -> DataObject:
        """A handle, by its id, of an object that another client has submitted to this session.

        As long as somebody keeps the object, you can fetch it and tasks can read it. With `keep`
        this handle does so itself, until `unkeep()`; RainException if nobody keeps it any more.

        >>> mine = tasks.Concat((blob("ra"), blob("in"))).output
        >>> mine.keep()
        >>> session.submit()
        >>> joined = client.join_session(session.session_id)  # usually in another program
        >>> joined.data_object(mine.id).fetch().get_str()
        'rain'
        """
        packed = ObjectId(pack(*object_id))
        connection = self._connection()
        with self._asking:
            (report,) = connection.ask(TakeHandles((packed,), wants_data=keep))
        if keep and not self._owned:
            self._lent.add(packed)
        shape = ObjectShape(
            report.label or None, report.declared_type or None, report.data_type.value
        )
        return submitted_object(self, packed, shape, DataObjectState(report.state.value))

    # Waiting.

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
            if not answer.failed:  # else some are done that are not finished
                self.finished_submissions = max(self.finished_submissions, submits)
                if submits == self._outgoing.submits:
                    self._outgoing.history.forget_left()

    # Cancelling.

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
        check_grace(grace)
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

    # Results.

    @property
    def delivered_count(self) -> int:
        """The number of results that this client has already; fetching them sends no message.

        >>> text = tasks.Concat((blob("ra"), blob("in")))
        >>> session.compute(text).get_str(), session.delivered_count
        ('rain', 1)
        """
        return len(self._results)

    @hides_frames
    def fetch(self, obj: DataObject) -> DataInstance:
        """Waits until a kept object is finished and gives its data.

        >>> text = tasks.Concat((blob("ra"), blob("in"))).output
        >>> text.keep()
        >>> session.submit()
        >>> session.fetch(text).get_str()
        'rain'
        """
        connection = self._connection()
        expect_fetchable(obj)
        return self._results.delivered(obj) or self._bring(connection, [obj])[0]

    @hides_frames
    def fetch_all(self, objects: Iterable[DataObject]) -> list[DataInstance]:
        """Waits until several kept objects are finished and gives their data, in their order.

        >>> texts = [tasks.Concat((blob(a), blob("in"))).output for a in ("ra", "tra")]
        >>> session.keep_all()
        >>> session.submit()
        >>> [data.get_str() for data in session.fetch_all(texts)]
        ['rain', 'train']
        """
        connection = self._connection()
        wanted = list(objects)
        for obj in wanted:
            expect_fetchable(obj)
        return self._bring(connection, wanted)

    def _bring(self, connection: Connection, wanted: list[DataObject]) -> list[DataInstance]:
        try:
            return self._fetching.bring(connection, wanted)
        except KeyboardInterrupt:
            self._cancel((), wanted)
            raise

    @hides_frames
    def compute(self, item: Task | DataObject) -> DataInstance:
        """Computes an object, or the single output of a task, and gives its data.

        It keeps the object, submits everything that is not submitted yet, waits and fetches. Small
        data takes one round trip. A refusal is raised as after `submit(soon=True)`.

        >>> session.compute(tasks.Concat((blob("ra"), blob("in")))).get_str()
        'rain'
        """
        return self.compute_all([item])[0]

    @hides_frames
    def compute_all(self, items: Iterable[Task | DataObject]) -> list[DataInstance]:
        """Computes several objects, as `compute` does, and gives their data in their order.

        >>> texts = [tasks.Concat((blob(a), blob("in"))) for a in ("ra", "tra")]
        >>> [data.get_str() for data in session.compute_all(texts)]
        ['rain', 'train']
        """
        connection = self._connection()
        wanted: list[DataObject] = []
        ids: list[ObjectId] = []
        tasks: list[Task] = []
        for item in items:  # one loop, since there is usually one item
            obj = to_dataobj(item)
            if obj.session is not self or (obj.submission and not obj.kept):
                raise not_computable(self, obj)
            wanted.append(obj)
            ids.append(obj.packed_id)
            if isinstance(item, Task):
                tasks.append(item)
        for obj in wanted:
            obj.kept = True
        try:
            waiting = self.submit_by(partial(_begin, connection, tuple(ids)))
            answer = None if waiting is None else waiting()
        except RainError:
            with noting_failure(tasks), self._asking:  # which costs those nothing that go well
                raise
        except KeyboardInterrupt:
            self._cancel((), wanted)
            raise
        if answer is not None:
            results = self._results
            results.take_in(answer.delivery)
            mark_finished(tasks, wanted)
            delivered = results.all_delivered(wanted)
            if delivered is not None:
                return delivered
        return self._bring(connection, wanted)

    @hides_frames
    def open(self, obj: DataObject, path: str = "") -> "BufferedReader":
        """Opens the data of a kept object as a file; `DataObject.open` says more.

        >>> text = tasks.Concat((blob("ra"), blob("in"))).output
        >>> text.keep()
        >>> session.submit()
        >>> session.open(text).read(2)
        b'ra'
        """
        connection = self._connection()
        expect_fetchable(obj)
        return self._fetching.open(connection, obj, path)

    @hides_frames
    def fetch_range(
        self, obj: DataObject, start: int = 0, stop: int | None = None, path: str = ""
    ) -> bytes:
        """Some bytes of a kept object; `DataObject.fetch_range` says more.

        >>> text = tasks.Concat((blob("ra"), blob("in"))).output
        >>> text.keep()
        >>> session.submit()
        >>> session.fetch_range(text, 1, 3)
        b'ai'
        """
        connection = self._connection()
        expect_fetchable(obj)
        wanted = checked_range(start, stop, path)
        return self._fetching.piece(connection, obj, wanted)

    @hides_frames
    def download(self, obj: DataObject, path: Path | str) -> None:
        """Writes the data of a kept object to a path without holding all of it in memory.

        >>> from pathlib import Path
        >>> text = tasks.Concat((blob("ra"), blob("in"))).output
        >>> text.keep()
        >>> session.submit()
        >>> session.download(text, "text.txt")
        >>> Path("text.txt").read_text()
        'rain'
        """
        connection = self._connection()
        expect_fetchable(obj)
        try:
            self._fetching.download(connection, obj, Path(path))
        except KeyboardInterrupt:
            self._cancel((), [obj])
            raise

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
        """What a task has printed (see `Task.logs`).

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
        submitted_items(self, [task])
        connection = self._connection()
        with self._asking:
            task_id = task.packed_id if task.unit is None else task.unit.task_id
            (report,), _ = connection.ask(ReportsOf((task_id,), (), logs=True))
            return report.logs

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

    @hides_frames
    def unkeep(self, objects: Iterable[DataObject]) -> None:
        """Lets objects go when no task needs them.

        >>> text = tasks.Concat((blob("ra"), blob("in"))).output
        >>> text.keep()
        >>> session.submit()
        >>> session.unkeep([text])
        >>> text.is_kept()
        False
        """
        chosen = list(objects)
        for obj in chosen:
            expect_object(obj)
            if not obj.kept:
                raise RainException(f"{obj!r} is not kept")
        submitted = [obj.packed_id for obj in chosen if obj.submission]
        if submitted:
            connection = self._connection()
            with self._asking:
                connection.ask(Unkeep(tuple(submitted)))
        for obj in chosen:
            obj.kept = False
            self._results.drop(obj.packed_id)
            self._lent.discard(obj.packed_id)

    # Helpers.

    def _cancel(
        self, tasks: Sequence[Task], objects: Sequence[DataObject], *, whole: bool = False
    ) -> None:
        """A wait for this was interrupted: unless the session stops, nobody wants it.

        A task is interrupted when it is cancelled itself; then the server cancels what it has
        submitted, unless that is to go on.
        """
        if in_a_task():
            return
        if self.active and self.client is not None and self._owned:
            with suppress(RainError):  # an interruption is what the user is told
                wanted = asked_ids(tasks, objects)
                said = Cancel(SessionId(self.session_id), *wanted, whole=whole)
                self.client.connection.say(said)

    def __repr__(self) -> str:
        state = "" if self.active else " closed"
        return f"<Session {self.session_id} {self.spec.name!r}{state}>"

    def _repr_html_(self) -> str:
        """The picture of it in notebooks."""
        client, overview = self.client, None
        if client is not None and self.active:
            ask = partial(client.connection.ask, OverviewOf(SessionId(self.session_id)))
            overview = asked(ask)
        return session_picture(self.spec.name, self.task_count, overview, closed=not self.active)


def _begin(
    connection: Connection, wanted: tuple[ObjectId, ...], submission: Submission
) -> Callable[[], WaitAnswer | None]:
    """Sends it with a wait for what is wanted; a failure is told by the wait alone."""
    submission.fails_alone = True
    return connection.begin(Submit(submission, wanted))
