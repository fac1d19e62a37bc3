"""Receives the ends of futures: of the calls of a client, and of futures that it has borrowed.

The client asks the server for news of the session. The server answers as soon as calls are done,
with small results in the answer, and the client asks again. All this runs in the thread of the
connection, which must not block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakMethod, WeakValueDictionary

from rain.base.errors import ConnectionLostError, RefusedError, SessionFailedError
from rain.base.failures import SessionFailure
from rain.base.ids import ObjectId, SessionId
from rain.base.wire.answers import WaitAnswer
from rain.base.wire.requests import WaitFor
from rain.client.connection import Connection
from rain.client.errors import raised_by_future, was_cancelled
from rain.client.futures.borrowed import waits_for
from rain.client.rpc.common import DataObjectState, TaskState
from rain.common.errors import SessionException

if TYPE_CHECKING:
    from rain.client.future import Future
    from rain.client.session import Session


class Ends:
    """The futures of a client that are open, and the news of them."""

    def __init__(self, session: Session, connection: Connection) -> None:
        self._session = session
        self._connection = connection
        self._id = SessionId(session.session_id)
        self._all: WeakValueDictionary[int, Future[Any]] = WeakValueDictionary()  # by object
        self._open: set[ObjectId] = set()  # not finished yet, even if the future is gone
        self._heard = 0  # how many tasks the news have named
        self._follows = False  # the server was asked for news

    def know(self, future: Future[Any]) -> None:
        """Registers a future that is done."""
        self._all[future.handle.packed_id] = future

    def register(self, future: Future[Any]) -> None:
        """Registers an open future. This comes before its call is sent, since another thread
        receives its end.
        """
        self.know(future)
        self._open.add(future.handle.packed_id)

    def find(self, object_id: ObjectId) -> Future[Any] | None:
        """The future of an object, if it still exists."""
        return self._all.get(object_id)

    def give_up(self, object_ids: Iterable[ObjectId]) -> None:
        """Forgets these futures: nobody needs their ends any more."""
        self._open.difference_update(object_ids)

    def answered(self, outputs: Sequence[ObjectId], answer: WaitAnswer | Exception | None) -> None:
        """The answer to a submission. If it was refused, all of its calls have failed."""
        if isinstance(answer, Exception):
            if isinstance(answer, RefusedError):
                self._session.note_refusal()
            public = self.public_error(answer)
            for object_id in outputs:
                self.fail(object_id, public)

    def arrived(self, outputs: Sequence[ObjectId], answer: WaitAnswer | Exception | None) -> None:
        """The answer to the submission of a call that is awaited."""
        if isinstance(answer, SessionFailedError):
            for object_id in outputs:
                self._failed(object_id, answer)
        elif isinstance(answer, Exception):
            self.answered(outputs, answer)
        elif answer is not None and answer.objects:
            self._take_in(answer)
        else:  # something was uploaded with it, and it is not awaited
            self.follow()

    def follow(self) -> None:
        """Asks for news, unless that was done."""
        if self._follows:
            return
        self._follows = True
        since = self._heard
        try:
            then = _weakly(WeakMethod(self._news), since)
            self._connection.ask_then(WaitFor(self._id, (), (), "news", since), then)
        except ConnectionLostError as error:
            self._news(since, error)

    def follow_open(self) -> None:
        """Asks for news if anything is open."""
        if self._open:
            self.follow()

    def _news(self, since: int, answer: WaitAnswer | Exception) -> None:
        if isinstance(answer, Exception):
            public = self.public_error(answer)
            for object_id in list(self._open):
                self.fail(object_id, public)
            return
        # Two threads may have asked for the same news, and both are answered.
        self._heard = max(self._heard, since + len(answer.tasks))
        self._take_in(answer)
        self._follows = False
        self.follow_open()  # else with the next submission

    def _take_in(self, answer: WaitAnswer) -> None:
        """Results, and what is done or has failed."""
        delivery = answer.delivery
        for place, object_id in enumerate(delivery.ids):
            future = self.find(object_id)
            if future is not None and len(delivery.data[place]) == delivery.sizes[place]:
                future.deliver((delivery.data[place], delivery.content_types[place]))
        failed = set(answer.failed)
        for object_id in answer.objects:
            if object_id not in self._open:
                continue  # it was made again, or was cancelled
            future = self.find(object_id)
            if future is None or future.cancelled():
                self._open.discard(object_id)
            elif object_id in failed:
                self._ask_why(object_id)
            else:
                self._open.discard(object_id)
                note_finished(future)

    def ended(self, object_id: ObjectId, answer: WaitAnswer | Exception) -> None:
        """Something that was borrowed is done, or cannot be had."""
        if not isinstance(answer, Exception):
            self._open.discard(object_id)
            future = self.find(object_id)
            if future is not None and not future.cancelled():
                note_finished(future)
        elif isinstance(answer, SessionFailedError):
            self._failed(object_id, answer)
        else:
            self.fail(object_id, self.public_error(answer))

    def _ask_why(self, object_id: ObjectId) -> None:
        then = partial(self._failed, object_id)
        try:
            self._connection.ask_then(waits_for(object_id), then)
        except ConnectionLostError as error:
            then(error)

    def _failed(self, object_id: ObjectId, answer: WaitAnswer | Exception) -> None:
        """Why a call has failed."""
        failure = answer.failure if isinstance(answer, SessionFailedError) else None
        if failure is not None:
            self.fail(object_id, self._error(failure))
        elif isinstance(answer, Exception):
            self.fail(object_id, self.public_error(answer))

    def fail(self, object_id: ObjectId, error: BaseException) -> None:
        """A call will not have a result, and this is why."""
        if object_id not in self._open:
            return  # it was given up, or asked for twice: with the submission, and after the news
        self._open.discard(object_id)
        future = self.find(object_id)
        if future is not None:
            if future.task is not None:
                cancelled = was_cancelled(error)
                future.task.known_state = TaskState.cancelled if cancelled else TaskState.failed
            future.note_failed(error)

    def _error(self, failure: SessionFailure) -> BaseException:
        told = self._session.asking().explain(failure)
        return raised_by_future(failure, told) if isinstance(told, SessionException) else told

    def public_error(self, error: Exception) -> Exception:
        """The public exception for an error of the connection."""
        return self._session.asking().public_error(error) or error


def _weakly(method: WeakMethod[Callable[[int, Any], None]], since: int) -> Callable[[Any], None]:
    """The connection must not keep a client alive that nobody has any more."""

    def call(answer: object) -> None:
        alive = method()
        if alive is not None:
            alive(since, answer)

    return call


def note_finished(future: Future[Any]) -> None:
    """Its result is there."""
    if future.task is not None:
        future.task.known_state = TaskState.finished
    future.handle.known_state = DataObjectState.finished
    future.note_finished()
