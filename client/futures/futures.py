"""The state that all futures of a client share: their session, calls to be sent, borrowed ones.

Calls are gathered and sent together: when there are `SENT_AT` of them, when somebody waits, or
after some milliseconds. What becomes of them is heard in `ends.py`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakMethod

from rain.base.errors import (
    NO_WAIT_IN_HANDLER,
    RainError,
)
from rain.base.ids import ObjectId, SessionId, TaskId, session_of
from rain.base.states import TaskState as States
from rain.base.wire import INLINE_LIMIT
from rain.base.wire.grace import OWN_GRACE
from rain.base.wire.requests import Cancel, CancelUnstarted, ReportsOf, Submit
from rain.base.wire.submission import Submission
from rain.client.data import DataObject, filled, new_handle
from rain.client.future import Future
from rain.client.futures.borrowed import Borrowing, borrowed_object
from rain.client.futures.callbacks import Callback, Callbacks
from rain.client.futures.called import Function
from rain.client.futures.ends import Ends, note_finished
from rain.client.futures.loops import Loops
from rain.client.futures.plain import PlainCalls
from rain.client.futures.sender import CallSender
from rain.client.handles import constant_object
from rain.client.in_loops import is_in_loop
from rain.client.options import Options
from rain.client.shapes import ObjectShape
from rain.client.staging import encode_constant
from rain.client.task import Task
from rain.common.errors import ConnectionException, RainException
from rain.common.references import Reference, finding_references
from rain.files.values import save_value

if TYPE_CHECKING:
    from rain.client.housekeeper import Housekeeper
    from rain.client.session import Session
    from rain.common.data_instance import DataInstance

T = TypeVar("T")

_SAVING = Options(name="save")

_PIN = ObjectShape("returned", "pickle")

SENT_AT = 1000
"""Calls that are sent at once: the cluster works on them while the next ones are made."""


class Futures:
    """The futures of one client."""

    def __init__(self, session: Session, housekeeper: Housekeeper) -> None:
        self.session = session
        session.let_inputs_go()
        self._callbacks = Callbacks()
        self._calls = PlainCalls(session, self.take_over)
        self._sender = CallSender(WeakMethod(self.send))
        self._housekeeper = housekeeper
        self._loops = Loops()
        housekeeper.at_close += [self._sender.stop, self._callbacks.stop, self._loops.stop]
        self._connection = housekeeper.connection
        self.here = self._connection.here
        self._id = SessionId(session.session_id)
        self._ends = Ends(session, self._connection)
        self.ended: list[Callable[[Any], object]] = []
        self._held: set[object] = set()  # those with callbacks that are not done
        self._unsent = 0  # about
        self._cancels: deque[Cancel] = deque()  # to be sent after the calls
        self._borrowing = Borrowing(self._connection, self._ends)
        self._pins: list[DataObject] = []  # hold what a task returns until its run has ended
        housekeeper.before_telling.append(self._borrowing.take)

    def stop(self) -> None:
        """Their session is over, and the client goes on."""
        self._borrowing.take()
        self._housekeeper.before_telling.remove(self._borrowing.take)
        for end in (self._sender.stop, self._callbacks.stop, self._loops.stop):
            self._housekeeper.at_close.remove(end)
            end()

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
            name: self.put(value, name) if self._calls.is_large(value) else value
            for name, value in keywords.items()
        }
        made = [self.call(fn, args, shared, options) for args in calls]
        self.send_or_leave()
        return made

    def added(self, task: Task) -> Future[Any]:
        """The future of a task with one output, which is sent soon."""
        self._expect_open()
        output = task.output
        output.kept = True
        future: Future[Any] = Future(self, output, task)
        self.start(future)
        self.send_many()
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
        self._expect_open()
        task = self._calls.new_task(fn, args, keywords, options)
        output = task.output
        output.kept = True
        return output, task

    def start(self, future: Future[Any]) -> None:
        """Lets a new call be sent soon. Does not wait for anything."""
        task = future.task
        assert task is not None
        self._ends.register(future)
        self.session.add_task(task)
        self._unsent += 1
        if self.here is None:  # else it is sent only when its result is awaited
            self._sender.soon()

    def _expect_open(self) -> None:
        if self._housekeeper.closed:
            raise ConnectionException("the client is closed, and takes no calls any more")

    def send_many(self) -> None:
        """Sends what was started, if that is much; when its session is over, it fails at once."""
        if self._unsent >= SENT_AT or self._sender.is_over:
            self.send_or_leave()

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
        self._expect_open()
        futures: list[Future[Any]] = []
        for task in wanted:
            output = task.output
            output.kept = True
            futures.append(Future(self, output, task))
            self._ends.register(futures[-1])
        self.session.add_tasks(steps)
        self.send()
        return futures

    @property
    def is_closed(self) -> bool:
        """Whether the client is closed, so that nothing is sent any more."""
        return self._sender.is_over

    def put(self, value: T, name: str) -> Future[T]:
        """A future of a value that is here."""
        self._expect_open()
        handle = self.constant(value, name)
        handle.kept = True
        future: Future[T] = Future(self, handle, None)
        self._ends.know(future)
        if len(handle.constant or b"") > INLINE_LIMIT:
            self._send_and_hear()
        else:
            self.send()
        note_finished(future)  # the server has it, or the session is over
        return future

    def _send_and_hear(self) -> None:
        """Sends what was not sent yet, and waits: a disk that is full refuses large values."""
        self._unsent = 0
        self._sender.sent()
        self._borrowing.take()
        try:
            self.session.submit_by(lambda submission: self._connection.ask(Submit(submission)))
        except (RainError, RainException) as error:
            raise self._unsendable(error) from None
        self._ends.follow_open()

    # Sending.

    def send(self, *, awaited: bool = False) -> None:
        """Sends all calls that were not sent yet. What cannot be sent has failed.

        A single call that is awaited takes the wait for its result along, which saves messages.
        """
        self._unsent = 0
        self._sender.sent()
        if self._borrowing.untold:
            self._borrowing.take()
        # Taken before the calls, so that the server knows what is cancelled.
        cancels = [self._cancels.popleft() for _ in range(len(self._cancels))]
        try:
            self.session.submit_by(self._submit_awaited if awaited else self._submit)
        except (RainError, RainException) as error:
            self._unsendable(error)
        for cancel in cancels:
            # The caller has gone on. Waits for results hear that the server is lost.
            with suppress(RainError, RainException):
                self._say(cancel)

    def _say(self, cancel: Cancel) -> None:
        with self.session.asking():
            self._connection.say(cancel)

    def send_or_leave(self, *, awaited: bool = False) -> None:
        """The same where a loop may run, which an upload must not hold up: the sender does it."""
        if self._would_hold_up_a_loop():
            self._sender.soon()
        else:
            self.send(awaited=awaited)

    def _would_hold_up_a_loop(self) -> bool:
        """Whether to send takes long here, and there is a thread that can do it."""
        return (
            self.session.submits_slowly
            and self.here is None
            and not self._sender.is_over
            and is_in_loop()
        )

    def _unsendable(self, error: Exception) -> Exception:
        """All that was not sent has failed; returns the exception for users."""
        public = self._ends.public_error(error)
        for task in self.session.drop_pending():
            self._ends.fail(task.output.packed_id, public)
        return public

    @property
    def is_interrupted_here(self) -> bool:
        """Whether this is a signal handler that came while its own thread was submitting."""
        return self.session.is_interrupted_here or self._connection.is_interrupted_here

    def expect_free(self, handle: DataObject) -> None:
        """Refuses to wait for this in such a handler, if it could never be there."""
        if self.session.is_interrupted_here and not handle.submission:
            raise RainException(
                "a signal handler cannot wait here: it came in the middle of a submit, which takes"
                " its call along when it returns; submit in the handler, and wait outside of it"
            )
        if self._connection.is_interrupted_here:
            raise RainException(NO_WAIT_IN_HANDLER)

    def _submit(self, submission: Submission) -> None:
        outputs = submission.tasks.outputs
        self._connection.ask_then(Submit(submission), partial(self._ends.answered, outputs))
        self._ends.follow()

    def _submit_awaited(self, submission: Submission) -> None:
        outputs = submission.tasks.outputs
        if len(outputs) != 1:
            self._submit(submission)
            return
        self._connection.ask_then(
            Submit(submission, tuple(outputs)), partial(self._ends.arrived, outputs)
        )

    def work_until(self, is_done: Callable[[], bool], timeout: float | None = None) -> None:
        """Runs calls in this thread, if the cluster is in this process."""
        if self.here is not None:
            self.here.work_until(is_done, timeout, self._send_rest)

    def work_for(self, is_done: Callable[[], bool]) -> None:
        """The same in another thread."""
        if self.here is not None:
            self.here.work_for(is_done, self._send_rest)

    def _send_rest(self) -> bool:
        if not self._unsent:
            return False
        self.send()
        return True

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
        if self._would_hold_up_a_loop():
            self._cancels.append(cancel)
            self._sender.soon()
        else:
            self.send()
            self._say(cancel)

    def hold(self, future: object) -> None:
        """Keeps a future that nobody may have any more until its callbacks are called."""
        self._held.add(future)

    def cancel_unstarted(self, futures: Collection[Future[Any]]) -> Collection[ObjectId]:
        """Asks the server to cancel those of these that do not run yet; gives these results."""
        self.send()
        asked = tuple(future.handle.packed_id for future in futures)
        with self.session.asking():
            return frozenset(self._connection.ask(CancelUnstarted(self._id, asked)))

    def is_running(self, future: Future[Any]) -> bool:
        """Asks the server whether a call runs now."""
        self.send()
        with self.session.asking():
            ((report,), _) = self._connection.ask(ReportsOf((_task_of(future),), ()))
        return report.state is States.RUNNING

    def give_up(self, futures: Collection[Future[Any]]) -> None:
        """The results of these are no longer needed; for everything that waits they are done."""
        given_up = tuple(future.handle.packed_id for future in futures)
        self._ends.give_up(given_up)
        self.send()
        with self.session.asking():
            self._connection.say(Cancel(self._id, (), given_up, always=True))

    def call_back(self, fn: Callback, future: object) -> None:
        """Calls a user's function with a future, in a thread of the client."""
        self._callbacks.put(fn, future)
        self._held.discard(future)

    def fetch(self, future: Future[Any]) -> Any:
        """The value of a result that did not come with the news."""
        if self.here is not None:
            return self.session.fetch(future.handle).load()
        return self._loops.read(future, self.session.fetch).load()

    def was_fetched(self, future: Future[Any]) -> bool:
        """Whether such a result is here all the same, for the loop that reads it next."""
        return self._loops.has(future)

    def find(self, object_id: ObjectId) -> Future[Any] | None:
        """The future of an object, if somebody has it."""
        return self._ends.find(object_id)

    def fetch_all(self, handles: Sequence[DataObject]) -> Sequence[DataInstance]:
        """The data of several of these, read side by side."""
        return self.session.fetch_all(handles)

    # Those of others.

    @property
    def cluster(self) -> bytes:
        """Which start of which server knows their objects."""
        return self._connection.cluster

    def borrow(self, object_id: ObjectId, name: str) -> Future[Any]:
        """The future of an object, no matter who has submitted it; the same one if it is here."""
        known = self._ends.find(object_id)
        if known is not None:
            return known
        handle = borrowed_object(self.session, object_id, name)
        future: Future[Any] = Future(self, handle, None)
        self._ends.register(future)
        self._borrowing.add(object_id)
        self._sender.soon()
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
        self.send()
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
