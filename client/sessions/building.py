"""Collects the new tasks and objects of a session, until it submits them."""

from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar

from rain.base.failures import SessionFailure
from rain.base.ids import FIRST_NUMBER, pack
from rain.base.wire.requests import Submit
from rain.base.wire.submission import Submission
from rain.client.connection import Asking, Connection
from rain.client.data import DataObject
from rain.client.explaining.tracebacks import hides_frames
from rain.client.failure import failure_exception
from rain.client.graph import Graph, graph_of
from rain.client.sent.function import SentFunction
from rain.client.session_options import SessionOptions
from rain.client.sessions.outgoing import Outgoing
from rain.client.submission import Same
from rain.client.task import Task
from rain.common.errors import RainException
from rain.common.references import Reference
from rain.common.running import in_a_task

if TYPE_CHECKING:
    from rain.client.client import Client

T = TypeVar("T")

CLOSED = "Session is closed"


class Building:
    """Takes new tasks and data objects, and submits them."""

    def __init__(self, client: "Client | None", session_id: int, options: SessionOptions) -> None:
        numbers = options.numbers
        self.active = True
        self.client = client
        self.session_id = session_id
        self.is_durable = options.is_durable
        self.fuse = options.fuse
        self.next_id: Any = numbers or count(pack(session_id, FIRST_NUMBER)).__next__
        self.functions: dict[Any, SentFunction] = {}  # by the remote function
        self._owned = numbers is None  # else another client has opened it
        self._lent: set[int] = set()  # objects that are kept here in a session of another client
        is_compared = client is not None and self._owned and in_a_task()
        compared_in = client.connection.cluster if client is not None and is_compared else b""
        self._outgoing = Outgoing(session_id, numbers, compared_in, idempotent=options.idempotent)
        self._asking = Asking(self._explain)

    def let_inputs_go(self) -> None:
        """From now on, handles of submitted tasks do not keep their inputs alive.

        Users of this session have only futures of objects, and never look at its tasks. The server
        keeps what a task will read.
        """
        self._outgoing.lets_inputs_go = True

    # Called by tasks and data objects.

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
        """A task or a constant of the next submit contains these futures."""
        futures = self._client().open_futures()
        handles = [futures.handle_of(reference) for reference in references]
        self._outgoing.pending.contents[holder] = handles
        if futures.session is not self:
            futures.sending.send()  # before this session sends anything

    def note_key(self, holder: int, key: Same) -> None:
        """The key by which a task or constant of the next submit equals one of an earlier run."""
        self._outgoing.pending.keys[holder] = key

    # Submitting.

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
        """How many submissions were refused after they had been sent."""
        return self._outgoing.refusals

    def note_refusal(self) -> None:
        """A submission that nobody waited for was refused: kinds and functions are sent again."""
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
        """Sends what is pending with this function; gives its result, or None for nothing."""
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

    @property
    def submits_slowly(self) -> bool:
        """Whether a submit has to wait for another one, or for its uploads."""
        return self._outgoing.is_sending or self._outgoing.pending.has_uploads()

    def drop_pending(self) -> Sequence[Task]:
        """Forgets what is not submitted yet, since it cannot be sent; returns its tasks."""
        return self._outgoing.pending.take().tasks

    def _submit_what_handlers_left(self, fuse: bool) -> None:
        """Signal handlers have submitted in the middle of a submit: no handler can wait for it."""
        if not self._outgoing.is_sending:
            self._outgoing.is_asked_again = False
            self.submit_by(_now(self._connection()), fuse)

    def _has_left(self, submission: Submission) -> bool:
        """Whether a submission has been sent although its sending was interrupted."""
        return self._connection().has_left(submission)

    # Asking the server.

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


def _now(connection: Connection) -> Callable[[Submission], object]:
    return lambda submission: connection.ask(Submit(submission))


def _soon(connection: Connection) -> Callable[[Submission], object]:
    return lambda submission: connection.say(Submit(submission))
