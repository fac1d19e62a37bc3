"""The state that all futures of a client share: their session, their ends, borrowed ones.

Calls are made here and sent in `sending.py`; `ends.py` receives how they end.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakMethod

from rain.base.ids import ObjectId, SessionId, TaskId, session_of
from rain.base.states import TaskState as States
from rain.base.wire import INLINE_LIMIT
from rain.base.wire.grace import OWN_GRACE
from rain.base.wire.requests import Cancel, CancelUnstarted, OverviewOf, ReportsOf
from rain.client.data import DataObject, filled, new_handle
from rain.client.future import Future
from rain.client.futures.borrowed import Borrowing, borrowed_object
from rain.client.futures.callbacks import Callbacks
from rain.client.futures.called import Function
from rain.client.futures.ends import Ends, note_finished
from rain.client.futures.loops import Loops
from rain.client.futures.plain import PlainCalls
from rain.client.futures.sending import Sending
from rain.client.handles import constant_object
from rain.client.options import Options
from rain.client.shapes import ObjectShape
from rain.client.staging import encode_constant
from rain.client.task import Task
from rain.common.errors import ConnectionException, RainException
from rain.common.references import Reference, finding_references
from rain.common.unpicklable import UNPICKLABLE, what_cannot_be_sent
from rain.files.publishing import save_value

if TYPE_CHECKING:
    from rain.client.housekeeper import Housekeeper
    from rain.client.session import Session

T = TypeVar("T")

_SAVING = Options(name="save")

_PIN = ObjectShape("returned", "pickle")


class Futures:
    """The futures of one client."""

    def __init__(self, session: Session, housekeeper: Housekeeper) -> None:
        self.session = session
        session.let_inputs_go()
        self._calls = PlainCalls(session, self.take_over)
        self._housekeeper = housekeeper
        self._connection = connection = housekeeper.connection
        self.here = connection.here  # the cluster, if it is in this process
        self._id = SessionId(session.session_id)
        self.ends = Ends(session, connection)
        self.at_each_end: list[Callable[[Any], object]] = []
        """Called with each future that is done, in whatever thread; they never block."""
        self._borrowing = Borrowing(connection, WeakMethod(self.ends.ended))
        self.sending = Sending(session, connection, self.ends, self._borrowing)
        self.callbacks = Callbacks()
        self.loops = Loops()
        housekeeper.at_close += [self.sending.thread.stop, self.loops.stop]
        housekeeper.at_end.append(self.callbacks.stop)
        self._pins: list[DataObject] = []  # hold what a task returns until its run has ended
        housekeeper.before_telling.append(self._borrowing.take)

    def stop(self) -> None:
        """Their session is over, and the client goes on."""
        self._borrowing.take()
        self._housekeeper.before_telling.remove(self._borrowing.take)
        for end in (self.sending.thread.stop, self.loops.stop):
            self._housekeeper.at_close.remove(end)
            end()
        self._housekeeper.at_end.remove(self.callbacks.stop)
        self.callbacks.stop()

    # Making them.

    def call(
        self, fn: Function, args: Sequence[Any], keywords: Mapping[str, Any], options: Options
    ) -> Future[Any]:
        """The future of a call, which is sent soon."""
        return self.added(self._calls.new_task(fn, args, keywords, options))

    def call_each(
        self,
        fn: Function,
        calls: Iterable[Sequence[Any]],
        keywords: Mapping[str, Any],
        options: Options,
    ) -> list[Future[Any]]:
        """The futures of calls that have the same keywords, of which large ones are sent once."""
        shared = {
            name: self.put(value, name) if self._calls.is_worth_sharing(value) else value
            for name, value in keywords.items()
        }
        made: list[Future[Any]] = []
        try:
            for args in calls:
                made.append(self.call(fn, args, shared, options))  # noqa: PERF401 # which are made counts
        except BaseException:  # also of the iterable, and Ctrl-C: nobody gets the futures
            if made:
                self.give_up(made)
            raise
        self.sending.send_or_leave()
        return made

    def added(self, task: Task) -> Future[Any]:
        """The future of a task with one output, which is sent soon."""
        self.expect_open()
        output = task.output
        output.kept = True
        future: Future[Any] = Future(self, output, task)
        self.start(future)
        self.sending.send_many()
        return future

    def save(
        self,
        future: Future[Any],
        url: str,
        storage_options: Mapping[str, Any],
        *,
        overwrite: bool,
    ) -> Future[Any]:
        """The future of a call that saves the result of this one."""
        return self.call(save_value, (future, url, overwrite, storage_options), {}, _SAVING)

    def new_call(
        self, fn: Function, args: Sequence[Any], keywords: Mapping[str, Any], options: Options
    ) -> tuple[DataObject, Task]:
        """The result and the task of a call that is not sent before it is started."""
        self.expect_open()
        task = self._calls.new_task(fn, args, keywords, options)
        output = task.output
        output.kept = True
        return output, task

    def start(self, future: Future[Any]) -> None:
        """Lets a new call be sent soon. Does not wait for anything."""
        task = future.task
        assert task is not None
        self.ends.register(future)
        self.session.add_task(task)
        self.sending.add_call()

    def expect_open(self, advice: str = "") -> None:
        """Refuses calls of a closed client, with what to do instead."""
        if self._housekeeper.closed:
            raise ConnectionException(f"the client is closed, and takes no calls any more{advice}")

    def step(self, fn: Function, args: Sequence[Any], options: Options) -> Task:
        """A call in a graph that `run` sends; steps after it may have its output as an argument."""
        return self._calls.new_task(fn, args, {}, options)

    def constant(self, value: Any, name: str) -> DataObject:
        """A value that is here, for the steps of a graph; sent with the next submission."""
        with finding_references() as found:
            data = encode_constant(self.session, value, "pickle")
        return constant_object(self.session, ObjectShape(name, "pickle"), data, found)

    def run(self, steps: Sequence[Task], wanted: Iterable[Task]) -> list[Future[Any]]:
        """The futures of those steps whose results are wanted, after all of them were sent.

        The cluster forgets the results of the other steps as soon as no step needs them.
        """
        self.expect_open()
        futures: list[Future[Any]] = []
        for task in wanted:
            output = task.output
            output.kept = True
            futures.append(Future(self, output, task))
            self.ends.register(futures[-1])
        self.session.add_tasks(steps)
        self.sending.send()
        return futures

    def cpus(self) -> int:
        """Those that the governors of the cluster have now."""
        with self.session.asking():
            return self._connection.ask(OverviewOf(self._id)).cpus

    def put(self, value: T, name: str) -> Future[T]:
        """A future of a value that is here."""
        self.expect_open()
        try:
            handle = self.constant(value, name)
        except UNPICKLABLE as error:
            error.add_note(f"The value cannot be sent{what_cannot_be_sent(value, error)}")
            raise
        handle.kept = True
        future: Future[T] = Future(self, handle, None)
        self.ends.know(future)
        if len(handle.constant or b"") > INLINE_LIMIT:
            self.sending.send_and_hear()
        else:
            self.sending.send()
        note_finished(future)  # the server has it, or the session is over
        return future

    # Working, waiting and cancelling.

    def work_until(self, is_done: Callable[[], bool], timeout: float | None = None) -> None:
        """Runs calls in this thread, if the cluster is in this process."""
        if self.here is not None:
            self.here.work_until(is_done, timeout, self.sending.send_rest)

    def work_for(self, is_done: Callable[[], bool]) -> None:
        """Runs calls in another thread, if the cluster is in this process."""
        if self.here is not None:
            self.here.work_for(is_done, self.sending.send_rest)

    def cancel(self, handle: DataObject, *, recursive: bool, grace: float | None) -> None:
        """Cancels this result, and those of all calls that need it."""
        object_id = handle.packed_id
        cancel = Cancel(
            session_of(object_id),
            (),
            (object_id,),
            always=True,
            recursive=recursive,
            grace=OWN_GRACE if grace is None else grace,
        )
        self.sending.cancel(cancel)

    def cancel_unstarted(self, futures: Collection[Future[Any]]) -> Collection[ObjectId]:
        """Asks the server to cancel those of these that do not run yet; gives these results."""
        self.sending.send()
        asked = tuple(future.handle.packed_id for future in futures)
        with self.session.asking():
            return frozenset(self._connection.ask(CancelUnstarted(self._id, asked)))

    def is_running(self, future: Future[Any]) -> bool:
        """Asks the server whether a call runs now."""
        self.sending.send()
        with self.session.asking():
            ((report,), _) = self._connection.ask(ReportsOf((_task_of(future),), ()))
        return report.state is States.RUNNING

    def give_up(self, futures: Collection[Future[Any]]) -> None:
        """The results of these are no longer needed; for everything that waits they are done."""
        given_up = tuple(future.handle.packed_id for future in futures)
        self.ends.give_up(given_up)
        self.sending.cancel(Cancel(self._id, (), given_up, always=True))

    def fetch(self, future: Future[Any]) -> Any:
        """The value of a result that did not come with the news."""
        if self.here is not None:
            return self.session.fetch(future.handle).load()
        return self.loops.read(future, self.session.fetch).load()

    # Those of others.

    @property
    def cluster(self) -> bytes:
        """Which start of which server knows their objects."""
        return self._connection.cluster

    def borrow(self, object_id: ObjectId, name: str) -> Future[Any]:
        """The future of an object, no matter who has submitted it; the same one if it is here."""
        known = self.ends.find(object_id)
        if known is not None:
            return known
        handle = borrowed_object(self.session, object_id, name)
        future: Future[Any] = Future(self, handle, None)
        self.ends.register(future)
        self._borrowing.add(object_id)
        self.sending.thread.soon()
        return future

    def take_over(self, future: Reference) -> Future[Any]:
        """A future of this client for the same object."""
        if isinstance(future, Future) and future.home is self:
            return future
        if not isinstance(future, Future) or future.home.cluster != self.cluster:
            raise RainException(f"{future!r} belongs to another cluster; give its value instead")
        if not future.done():
            future.home.settle()
        return self.borrow(future.object_id, future.name)

    def handle_of(self, future: Reference) -> DataObject:
        """The object that stands for its result here, also for a future of another client."""
        return self.take_over(future).handle

    def settle(self) -> None:
        """The server knows all calls when this returns, or has refused them."""
        self.sending.send()
        self._connection.ask(ReportsOf((), ()))

    def secure(self, references: Sequence[Reference]) -> None:
        """The server knows these when this returns, and keeps them until the run has ended.

        A task returns them. What it returns reaches the server on another way, perhaps later than
        the news that the task itself has none of them any more.
        """
        here = self.session.client
        assert here is not None
        here.open_futures().pin(references)

    def pin(self, references: Sequence[Reference]) -> None:
        """Keeps these as long as the session."""
        pin = filled(new_handle(DataObject), self.session, _PIN, b"")
        self.session.note_contents(pin.packed_id, references)
        self.session.add_object(pin)
        self._pins.append(pin)
        self.settle()


def _task_of(future: Future[Any]) -> TaskId:
    assert future.task is not None
    return future.task.packed_id
