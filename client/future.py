"""A future: the result of a call that runs on the cluster."""

from __future__ import annotations

import concurrent.futures
import threading
from collections.abc import Callable, Generator, Mapping
from functools import partial
from html import escape
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar
from weakref import ref

from rain.base.ids import ObjectId
from rain.base.wire.grace import check_seconds
from rain.client.errors import CancelledError, was_cancelled
from rain.client.explaining.not_a_value import NotAValue
from rain.client.explaining.tracebacks import hide_frames
from rain.client.guards import check_timeout
from rain.client.in_loops import expect_no_wait_of_asyncio, wait_for
from rain.client.references import reading, refer
from rain.common.content_type import decode_value
from rain.common.errors import RainException
from rain.common.references import note_reference
from rain.common.running import in_a_task, waiting_for_tasks
from rain.common.sameness import place_of
from rain.files.places import checked

if TYPE_CHECKING:
    from rain.base.wire.answers import TaskMemory
    from rain.client.data import DataObject
    from rain.client.futures.futures import Futures
    from rain.client.results import Result
    from rain.client.task import Task
    from rain.common.attributes import TaskInfo
    from rain.common.data_instance import DataInstance
    from rain.files.file import File

T = TypeVar("T")

_NOT_LOADED = object()
_cancelling = threading.RLock()  # one for all, since it is held for a moment only


class _Waiters(list[Any]):
    """The list in which `concurrent.futures` registers waiters: its functions run no calls while
    they wait.
    """

    def __init__(self, future: ref[Future[Any]]) -> None:
        super().__init__()
        self._future = future

    def append(self, waiter: Any, /) -> None:
        """A thread waits for the future."""
        super().append(waiter)
        future = self._future()
        if future is not None:
            future.want()


class Future(NotAValue, concurrent.futures.Future[T]):
    """The result of a call, which may not have finished yet.

    It is a `concurrent.futures.Future`, so `concurrent.futures.wait` and everything else that takes
    those takes it. In asyncio and in trio, `await future` gives the result.

    As an argument of another call it stands for its result, which goes directly from governor to
    governor. Inside of lists and other objects it stays a future, also in results and in other
    programs: it can be pickled. The cluster keeps the result as long as such a future exists
    somewhere.

    >>> future = client.submit(pow, 2, 3)
    >>> client.submit(pow, future, 2).result()
    64
    >>> future
    <Future 'pow' finished>
    """

    _exception: BaseException | None
    _trace: TracebackType | None = None  # of the failure, as it was received
    has_ended = False  # it is done; may be read without the lock

    def __init__(self, home: Futures, handle: DataObject, task: Task | None) -> None:
        super().__init__()
        self.home = home
        self.handle = handle
        self.task = task
        self._delivered: Result | None = None  # a small result that came with the news
        self._fetched: DataInstance | None = None  # a larger one that was fetched ahead
        self._value: Any = _NOT_LOADED
        self._is_over = False  # the server has said that it is done
        self._reason: CancelledError | None = None  # why it is cancelled, if the server has said so
        if home.here is not None:
            waiters: list[Any] = _Waiters(ref(self))
            self._waiters = waiters

    # Methods for users.

    def result(self, timeout: float | None = None) -> T:
        """Waits until the call is done. Returns what it returned, or raises what it raised.

        `TimeoutError` after `timeout` seconds; the call goes on. Ctrl-C cancels the call.

        >>> client.submit(pow, 2, 3).result(timeout=60)
        8
        """
        if self._value is _NOT_LOADED:
            try:
                self._wait(super().result, timeout)
                value = self._load()
            except BaseException as error:
                self._hide_frames(error)
                raise
            if self._value is _NOT_LOADED:  # else another thread was faster, and has given its own
                self._value = value
            self._delivered = self._fetched = None
        result: T = self._value
        return result

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Waits until the call is done. Returns the exception that it raised, or None.

        >>> client.submit(int, "one").exception()
        ValueError("invalid literal for int() with base 10: 'one'")
        """
        error: BaseException | None = self._wait(super().exception, timeout)
        return error

    def done(self) -> bool:
        """Whether the call has finished or failed, or was cancelled.

        >>> future = client.submit(pow, 2, 3)
        >>> while not future.done():
        ...     pass
        >>> future.result()
        8
        """
        here = self.home.here
        if here is not None and not self._is_over:
            self.home.sending.send()
            with waiting_for_tasks():
                here.work_once()
        return super().done()

    def cancel(self, *, recursive: bool = True, grace: float | None = None) -> bool:
        """Cancels the call, even if it is running. Returns False if it is already done.

        Calls that need its result are cancelled with it. A function that runs gets a
        `KeyboardInterrupt`, and may clean up for `grace` seconds before it is killed. If it has
        submitted calls itself, these are cancelled, too, unless `recursive` is False.

        >>> import time
        >>> future = client.submit(time.sleep, 600)
        >>> future.cancel()
        True
        >>> future.status
        'cancelled'
        """
        check_seconds(grace)
        if self.cancelled():
            return True
        if not self.note_cancelled():
            return False
        self.home.cancel(self.handle, recursive=recursive, grace=grace)
        return True

    def add_done_callback(self, fn: Callable[[Self], object]) -> None:
        """Calls a function with this future when it is done; at once if it is done already.

        Otherwise a thread of the client calls it, one function after the other.

        >>> import queue
        >>> done = queue.Queue()
        >>> client.submit(pow, 2, 3).add_done_callback(done.put)
        >>> done.get().result()
        8
        """
        expect_no_wait_of_asyncio(fn)
        if self.is_done():
            fn(self)
        else:
            self.home.callbacks.hold(self)
            self.want()
            super().add_done_callback(partial(self.home.callbacks.put, fn))

    def __await__(self) -> Generator[Any, Any, T]:
        if not self._is_over:
            self.home.sending.send_or_leave(awaited=True)
        self.want()
        return wait_for(self).__await__()

    @property
    def name(self) -> str:
        """The name of the call, or of what was put.

        >>> client.submit(pow, 2, 3).name
        'pow'
        >>> client.options(name="eight").submit(pow, 2, 3).name
        'eight'
        """
        return (self.handle.label if self.task is None else self.task.name) or ""

    @property
    def status(self) -> str:
        """ "pending", "finished", "error" or "cancelled".

        >>> future = client.submit(pow, 2, 3)
        >>> future.result(), future.status
        (8, 'finished')
        """
        if not self.is_done():
            return "pending"
        if self.cancelled():
            return "cancelled"
        return "finished" if self.failure is None else "error"

    def info(self) -> TaskInfo:
        """The runs of the call, and whether the cache had its result.

        >>> future = client.submit(pow, 2, 3)
        >>> future.result(), future.info().runs[0].state
        (8, 'finished')
        """
        task = self._call()
        task.update()
        assert task.info is not None  # it was updated
        return task.info

    def memory(self) -> TaskMemory | None:
        """The memory that the call has now, if it runs; None if it does not (see `Task.memory`).

        >>> future = client.submit(pow, 2, 3)
        >>> future.result(), future.memory()
        (8, None)
        """
        return self._call().memory()

    def logs(self) -> str:
        """The output of the call; while it runs, the output so far.

        The text of stdout comes first. The text of stderr follows below a line "[stderr]".

        >>> future = client.submit(print, "hello")
        >>> future.result(), future.logs()
        (None, 'hello\\n')
        """
        return self._call().logs()

    def save(
        self,
        url: str | PathLike[str],
        *,
        overwrite: bool = False,
        storage_options: Mapping[str, Any] | None = None,
    ) -> Future[File]:
        """Saves the result (`bytes` or `str`) at a URL or a path, by a call on the cluster.

        The file is there when it is complete, and not before. The result of the call is its handle.
        Wait for it before the client closes, since that ends what is not finished.

        >>> client.submit(str, 42).save("answer.txt").result().read_text()
        '42'

        Args:
            url: a URL that fsspec knows; or a path of the machine where the call runs.
            overwrite: replace a file that is there; else `FileExistsAlready` is raised.
            storage_options: what the file system is made with, as for pandas.
        """
        saved: Future[File] = self.home.save(
            self, checked(url), dict(storage_options or {}), overwrite=overwrite
        )
        return saved

    # Methods for the client.

    def deliver(self, delivered: Result) -> None:
        """The result itself has come, before or after the news that the call has finished."""
        if self._value is _NOT_LOADED:
            self._delivered = delivered

    def note_finished(self) -> None:
        """The call has finished, unless it was cancelled here meanwhile."""
        self._note(partial(self.set_result, _NOT_LOADED))  # type: ignore[arg-type] # pyright: ignore[reportArgumentType] # `result` never gives it out

    def note_failed(self, error: BaseException) -> None:
        """The call will have no result, unless it was cancelled here meanwhile."""
        self._is_over = True
        self._trace = error.__traceback__
        if was_cancelled(error) and self.note_cancelled(error):
            return
        self._note(partial(self.set_exception, error))

    def note_cancelled(self, reason: CancelledError | None = None) -> bool:
        """The call is cancelled; returns False if it has finished, or counts as running."""
        with _cancelling:
            if self.cancelled():
                return True
            if not super().cancel():
                return False
            self._reason = reason
            self.set_running_or_notify_cancel()  # tells those who wait
        self._tell_ended()
        return True

    def input(self) -> DataObject:
        """The data object of its result, for use as an argument of a call."""
        return self.handle

    @property
    def object_id(self) -> ObjectId:
        """The packed id of the object of its result."""
        return self.handle.packed_id

    def forget(self) -> None:
        """Keeps the result here no longer; if it is needed again, the cluster is asked."""
        self._value = _NOT_LOADED

    @property
    def failure(self) -> BaseException | None:
        """The failure of a call that is done and was not cancelled; None if it has not failed."""
        return super().exception()

    def when_done(self, then: Callable[[Any], object]) -> None:
        """Calls a function, which must not block, in the thread that learns of the end."""
        super().add_done_callback(then)

    def is_done(self) -> bool:
        """Whether the call is done. Unlike `done`, this never runs a call."""
        return super().done()

    def want(self) -> None:
        """A callback will run when it is done, without a thread that waits for it."""
        if self.home.here is None or self.is_done():
            return
        if in_a_task():  # no other thread runs calls while a task runs
            with waiting_for_tasks():
                self.home.work_until(self.is_done, None)
        else:
            self.home.work_for(self.is_done)

    @property
    def is_here(self) -> bool:
        """Whether `result` gives its answer without asking the cluster."""
        return (
            self._value is not _NOT_LOADED
            or self._delivered is not None
            or self._fetched is not None
            or (self.is_done() and (self.cancelled() or self.failure is not None))
            or self.home.loops.has(self)
        )

    def _call(self) -> Task:
        """The task of a call of this client, which the server knows."""
        if self.task is None:
            raise RainException(
                f"{self!r} is no call that this client has made, so it knows nothing of its run"
            )
        self.home.sending.send(awaited=True)
        return self.task

    def _hide_frames(self, error: BaseException) -> None:
        """Restores the traceback of the failure, so that it is the same each time it is raised."""
        if error is self._exception or error is self._reason:
            error.__traceback__ = self._trace
        else:
            hide_frames(error)

    def _note(self, end: Callable[[], None]) -> None:
        self._is_over = True
        try:
            end()
        except concurrent.futures.InvalidStateError:
            if not self.cancelled():
                raise
        self._tell_ended()

    def _tell_ended(self) -> None:
        self.has_ended = True
        if self.home.at_each_end:
            for hear in [*self.home.at_each_end]:  # a copy: other threads add and remove listeners
                hear(self)

    def _wait(self, ask: Callable[[float | None], Any], timeout: float | None) -> Any:
        check_timeout(timeout)
        if not self._is_over:
            self.home.sending.expect_free(self.handle)
            self.home.sending.send(awaited=True)
        try:
            if self.is_done():
                return ask(0)
            with waiting_for_tasks():
                if self.home.here is None:
                    return ask(timeout)
                self.home.work_until(self.is_done, timeout)
                return ask(0)
        except KeyboardInterrupt:
            if not in_a_task():  # else its own task is cancelled, which says the reason
                self.cancel()
            raise
        except concurrent.futures.CancelledError as error:
            if isinstance(error, CancelledError):
                raise
            raise self._reason or CancelledError(f"{self.name} was cancelled") from None
        except TimeoutError:
            if self.is_done():  # then it is what the call has raised
                raise
            raise TimeoutError(f"{self!r} is not done after {timeout:.6g} s") from None

    def take_data(self, data: DataInstance) -> None:
        """Its result was fetched ahead."""
        if self._value is _NOT_LOADED:
            self._fetched = data

    def _load(self) -> Any:
        delivered, fetched = self._delivered, self._fetched
        before, reading.taker = reading.taker, self.home  # of the futures inside
        try:
            if fetched is not None:
                return fetched.load()
            if delivered is None:
                return self.home.fetch(self)
            data, content_type = delivered
            return decode_value(data, content_type or self.handle.content_type)
        finally:
            reading.taker = before

    def reference(self) -> tuple[Callable[..., Any], tuple[bytes, str]]:
        """The pickled form: a call that makes the future again."""
        return refer, (place_of(self.home.cluster, self.object_id), self.name)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[bytes, str]]:
        note_reference(self)
        if not self._is_over:
            self.home.sending.send()  # so that others can ask for it
        return self.reference()

    def __repr__(self) -> str:
        return f"<Future {self.name!r} {self.status}>"

    def _repr_html_(self) -> str:
        """The picture of it in notebooks."""
        return f"<b>Future</b> <code>{escape(self.name)}</code> <i>{self.status}</i>"
