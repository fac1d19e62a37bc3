"""Sessions: what a program builds, submits, waits for and fetches belongs to one."""

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from rain.base.errors import RainError
from rain.base.failures import OnFailure, SessionFailure
from rain.base.ids import FIRST_NUMBER, ObjectId, SessionId, TaskId, pack
from rain.base.requests import Cancel, OverviewOf, ReportsOf, Submit, TakeHandles, Unkeep
from rain.base.wire import OWN_GRACE, Submission, WaitAnswer
from rain.client import active
from rain.client.active import get_active_session
from rain.client.connection import Asking, Connection
from rain.client.data import DataObject, submitted_object, to_dataobj
from rain.client.failure import failure_exception, noting_failure
from rain.client.fetching import Fetching
from rain.client.grace import check_grace
from rain.client.graph import Graph, graph_of
from rain.client.items import (
    asked_ids,
    expect_fetchable,
    expect_object,
    mark_finished,
    not_computable,
    submitted_items,
)
from rain.client.numbers import SharedNumbers
from rain.client.outgoing import Outgoing
from rain.client.pictures import asked, session_picture
from rain.client.results import ResultStore
from rain.client.rpc.common import DataObjectState, TaskState
from rain.client.shapes import ObjectShape
from rain.client.showing import LINES_PER_SECOND
from rain.client.task import Task
from rain.client.told import ToldFunction
from rain.client.tracebacks import hides_frames
from rain.client.unit import Unit
from rain.client.waiting import Waiting
from rain.common.attributes import SessionSpec
from rain.common.data_instance import DataInstance
from rain.common.errors import RainException
from rain.common.references import Reference
from rain.common.running import in_a_task

if TYPE_CHECKING:
    from rain.client.client import Client

__all__ = ["Session", "get_active_session"]

T = TypeVar("T")

CLOSED = "Session is closed"


class Session:
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
    ) -> None:
        self.active = True
        self.client = client
        self.session_id = session_id
        self.spec = SessionSpec(name)
        self.on_failure = on_failure
        self.fuse = fuse  # whether submits fuse chains that do not say it themselves
        # Read and changed by tasks and data objects.
        self.next_id: Any = numbers or count(pack(session_id, FIRST_NUMBER)).__next__
        self._owned = numbers is None  # else somebody else has opened it
        self._lent: set[int] = set()  # objects that are kept here in a session of somebody else
        self.finished_submissions = 0  # all of these submits are known to be finished
        self.functions: dict[Any, ToldFunction] = {}  # by the remote function
        self._outgoing = Outgoing(session_id, numbers)
        self._results = ResultStore()
        self._asking = Asking(self._explain)
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
        self.active = False
        active.drop_default(self)
        self._outgoing.clear()
        self._results.clear()
        self.functions.clear()
        if self.client is None:
            return
        if self._owned:
            self.client.end_session(SessionId(self.session_id))
        elif self._lent:
            with suppress(RainError):  # it has failed or ended: then nothing is kept any more
                self.client.connection.ask(Unkeep(tuple(map(ObjectId, self._lent))))

    # What tasks and data objects tell their session.

    def add_task(self, task: Task) -> None:
        """Takes a new task, to be sent with the next submit."""
        if not self.active:  # not by a call: every task passes here
            raise RainException(CLOSED)
        self._outgoing.pending.add_task(task)

    def add_tasks(self, tasks: Sequence[Task]) -> None:
        """Takes new tasks, to be sent together with the next submit."""
        self._expect_active()
        self._outgoing.pending.add_tasks(tasks)

    def add_object(self, obj: DataObject) -> None:
        """Takes a new constant, to be sent with the next submit."""
        self._expect_active()
        self._outgoing.pending.add_object(obj)

    def note_contents(self, holder: int, references: Iterable[Reference]) -> None:
        """A task or a constant that comes next has these futures inside."""
        futures = self._client().open_futures()
        handles = [futures.handle_of(reference) for reference in references]
        self._outgoing.pending.contents[holder] = handles
        if futures.session is not self:
            futures.send()  # before this session sends anything

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

    # Building and submitting.

    @property
    def submits(self) -> int:
        """The number of submits that were accepted.

        >>> text = tasks.Concat((blob("ra"), blob("in")))
        >>> session.submit()
        >>> session.submits
        1
        """
        return self._outgoing.submits

    @property
    def refusals(self) -> int:
        """How often what the server was told in a submission was refused after all."""
        return self._outgoing.refusals

    def note_refusal(self) -> None:
        """A submission was refused whose answer nobody waited for: all is told anew."""
        self._outgoing.refusals += 1

    @property
    def task_count(self) -> int:
        """The number of tasks that are not submitted yet.

        >>> text = tasks.Concat((blob("ra"), blob("in")))
        >>> session.task_count
        1
        """
        return len(self._outgoing.pending.tasks)

    @property
    def dataobj_count(self) -> int:
        """The number of data objects that are not submitted yet.

        >>> text = tasks.Concat((blob("ra"), blob("in")))
        >>> session.dataobj_count
        3
        """
        return len(self._outgoing.pending.objects())

    def keep_all(self) -> None:
        """Keeps all data objects that are not submitted yet.

        >>> text = tasks.Concat((blob("ra"), blob("in")))
        >>> session.keep_all()
        >>> text.output.is_kept()
        True
        """
        for obj in self._outgoing.pending.objects():
            obj.keep()

    def make_graph(self, show_ids: bool = True) -> Graph:
        """A drawing of the tasks and objects that are not submitted yet.

        >>> text = tasks.Concat((blob("ra"), blob("in")))
        >>> session.make_graph()
        <Graph of 1 task, 3 objects>
        >>> session.make_graph().write("graph.svg")
        """
        return graph_of(self._outgoing.pending.tasks, self._outgoing.pending.objects(), show_ids)

    @hides_frames
    def submit(self, *, soon: bool = False, fuse: bool | None = None) -> None:
        """Sends all tasks and objects that are not submitted yet.

        If the server refuses them, this raises `RainException` and nothing has changed.

        With `soon` it does not wait for the answer of the server, which saves a round trip. A
        refusal is then raised by the next call on the session; close the session after it.

        With `fuse` each straight chain of remote functions runs as one task. Objects inside a chain
        that are not kept cannot be read later. The default is that of the session.

        >>> text = tasks.Concat((blob("ra"), blob("in")))
        >>> text.output.keep()
        >>> session.submit()
        >>> text.output.fetch().get_str()
        'rain'
        """
        connection = self._connection()
        with self._asking:
            self.submit_by(_soon(connection) if soon else _now(connection), fuse)

    def submit_by(self, send: Callable[[Submission], T], fuse: bool | None = None) -> T | None:
        """Sends what is pending in this way; gives what that gave, None if there was nothing."""
        fusing = self.fuse if fuse is None else fuse
        submitted = self._outgoing.submit(send, self._has_left, fusing)
        if self._outgoing.is_asked_again:
            self._submit_what_handlers_left(fusing)
        if submitted is None:
            return None
        submission, sent = submitted
        if not self._owned:
            self._lent.update(submission.kept)
        return sent

    @property
    def is_interrupted_here(self) -> bool:
        """Whether this is a signal handler that came in the middle of a submit of this session."""
        return self._outgoing.is_interrupted_here

    def drop_pending(self) -> Sequence[Task]:
        """Forgets what is not submitted yet, since it cannot be sent; gives the tasks of it."""
        return self._outgoing.pending.take().tasks

    def _submit_what_handlers_left(self, fuse: bool) -> None:
        """Signal handlers have submitted in the middle of a submit: no handler can wait for it."""
        if not self._outgoing.is_sending:
            self._outgoing.is_asked_again = False
            self.submit_by(_now(self._connection()), fuse)

    def _has_left(self, submission: Submission) -> bool:
        """Whether what was interrupted while it was sent is on its way all the same."""
        return self._connection().has_left(submission)

    def data_object(self, object_id: Sequence[int], *, keep: bool = False) -> DataObject:
        """A handle, by its id, of an object that another client has submitted to this session.

        As long as somebody keeps the object, you can fetch it and tasks can read it. With `keep`
        this handle does so itself, until `unkeep()`; RainException if nobody keeps it any more.

        >>> mine = tasks.Concat((blob("ra"), blob("in"))).output
        >>> mine.keep()
        >>> session.submit()
        >>> joined = client.join_session(session.session_id)  # mostly in another program
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
        nobody else needs or keeps. Who waits for one of them gets a `TaskException`. What is done
        stays as it is.

        In a Python function that runs, `KeyboardInterrupt` is raised, and a program gets SIGINT, so
        both may clean up for `grace` seconds; then they are killed. Their cpus are free when they
        have ended.

        Only who has opened a session may cancel, and only in a session that goes on after failures.

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
        for item in items:  # one loop, since it is mostly for one
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
        submitted, unless that shall go on.
        """
        if in_a_task():
            return
        if self.active and self.client is not None and self._owned:
            with suppress(RainError):  # an interruption is what the user is told
                wanted = asked_ids(tasks, objects)
                said = Cancel(SessionId(self.session_id), *wanted, whole=whole)
                self.client.connection.say(said)

    def asking(self) -> Asking:
        """Goes around calls of the connection that concern this session."""
        return self._asking

    def _explain(self, failure: SessionFailure) -> RainException:
        return failure_exception(failure, self._outgoing.history)

    def _expect_active(self) -> None:
        if not self.active:
            raise RainException(CLOSED)

    def _client(self) -> "Client":
        if not self.active:  # as in `add_task`
            raise RainException(CLOSED)
        if self.client is None:
            raise RainException("This session has no client, so it has no server to ask")
        return self.client

    def _connection(self) -> Connection:
        client = self.client
        if client is None or not self.active:
            client = self._client()  # which raises
        return client.connection

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


def _now(connection: Connection) -> Callable[[Submission], object]:
    return lambda submission: connection.ask(Submit(submission))


def _soon(connection: Connection) -> Callable[[Submission], object]:
    return lambda submission: connection.say(Submit(submission))


def _begin(
    connection: Connection, wanted: tuple[ObjectId, ...], submission: Submission
) -> Callable[[], WaitAnswer | None]:
    """Sends it with a wait for what is wanted; a failure is told by the wait alone."""
    submission.fails_alone = True
    return connection.begin(Submit(submission, wanted))
