"""The class `Session`: it builds a graph of tasks, submits it, waits for it and fetches results."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rain.base.errors import RainError
from rain.base.ids import ObjectId, SessionId, TaskId, pack
from rain.base.wire.requests import OverviewOf, TakeHandles, Unkeep
from rain.client import active
from rain.client.active import get_active_session
from rain.client.data import DataObject
from rain.client.display.pictures import asked, session_picture
from rain.client.environments import Env, SessionEnvironments
from rain.client.handles import submitted_object
from rain.client.rpc.common import DataObjectState, TaskState
from rain.client.sent.large_arguments import LargeArguments
from rain.client.session_options import SessionOptions
from rain.client.sessions.computing import Computing
from rain.client.shapes import ObjectShape
from rain.client.unit import Unit
from rain.common.attributes import SessionSpec

if TYPE_CHECKING:
    from rain.client.client import Client

__all__ = ["Session", "get_active_session"]


class Session(Computing):
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
        options: SessionOptions = SessionOptions(),  # noqa: B008 # it is frozen
        env: Env | None = None,
    ) -> None:
        super().__init__(client, session_id, options)
        self.spec = SessionSpec(options.name)
        self.environments = SessionEnvironments(self, env)
        self.large_arguments = LargeArguments(self, "pickled(value)")  # of remote functions
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
        if made and self._waiting.news.count:
            self._waiting.news.forget(packed_id)
        if kept:
            self._results.drop(packed_id)
            self._lent.discard(packed_id)
        if self.client is not None:
            self.client.housekeeper.drop(packed_id, holds_data=kept)

    def drop_task(self, packed_id: TaskId, state: TaskState | None) -> None:
        """The handle of a submitted task was collected. Called by a finalizer."""
        if not self.active and self._owned:
            return
        self._outgoing.history.leave(packed_id, finished=state is TaskState.finished)
        if self._waiting.news.count:
            self._waiting.news.forget(packed_id)
        if self.client is not None:
            self.client.housekeeper.drop_task(packed_id)

    def drop_member(self, unit: Unit, packed_id: TaskId, state: TaskState | None) -> None:
        """The handle of a task in a unit was collected. The last handle takes the unit along."""
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
