"""A client that asks what the test wants, and looks up the answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from attrs import define

from rain.base.failures import OnFailure
from rain.base.ids import ClientId, ObjectId, RequestId, SessionId, TaskId
from rain.base.resources import Resources
from rain.base.wire.answers import (
    DurableReport,
    DurableReports,
    DurableTask,
    JoinedSession,
    ObjectReport,
    TaskReport,
    TasksByName,
)
from rain.base.wire.grace import OWN_GRACE
from rain.base.wire.requests import (
    AnyRequest,
    Cancel,
    CancelUnstarted,
    CloseSession,
    DurableSessions,
    DurableTasks,
    Fetch,
    HandlesGone,
    JoinSession,
    OpenSession,
    Promise,
    RemoveDurable,
    ReportsOf,
    ShareDurable,
    Submit,
    TakeHandles,
    Unkeep,
    WaitFor,
)
from rain.server.core.messages import (
    Answered,
    AnyAnswer,
    Asked,
    ClientLeft,
    Granted,
    RequestAbandoned,
    Said,
)
from tests.support.encoding import encoded
from tests.support.submissions import Draft

if TYPE_CHECKING:
    from tests.support.world import World

T = TypeVar("T")


def answer_of(answer: AnyAnswer | None, kind: type[T]) -> T:
    """What the client hears, which is no refusal."""
    assert isinstance(answer, Answered | Granted)
    assert isinstance(answer.answer, kind)
    return answer.answer


def reports_of(answer: AnyAnswer) -> tuple[tuple[TaskReport, ...], tuple[ObjectReport, ...]]:
    """How tasks and objects stand, as the client hears it."""
    assert isinstance(answer, Answered)
    assert isinstance(answer.answer, tuple)
    return answer.answer


@define(eq=False)
class FakeClient:
    """Asks, and looks up the answers."""

    world: World
    id: ClientId

    def session(
        self,
        name: str = "test",
        on_failure: OnFailure = OnFailure.STOP,
        parent: TaskId | None = None,
        *,
        durable: bool = False,
    ) -> Draft:
        """Opens a session and starts its first submission."""
        request = self.world.request()
        asked = OpenSession(name, "", on_failure, parent, durable)
        self.world.turn(Asked(self.id, request, asked))
        answer = self.world.answers[request]
        return Draft(SessionId(answer_of(answer, int)))

    def ask_join(self, session: SessionId, name: str = "") -> AnyAnswer:
        """Asks to take part in a session, which may be refused."""
        return self._ask(JoinSession(session, name, numbers=True))

    def ask_open(self, name: str, on_failure: OnFailure = OnFailure.CONTINUE) -> AnyAnswer:
        """Asks for a durable session, which may be refused."""
        return self._ask(OpenSession(name, "", on_failure, durable=True))

    def join(self, session: SessionId, parent: TaskId | None = None) -> JoinedSession:
        """Takes part in a session of another client."""
        request = self.world.request()
        self.world.turn(Asked(self.id, request, JoinSession(session, "", True, parent)))
        answer = self.world.answers[request]
        joined: JoinedSession = answer_of(answer, JoinedSession)
        return joined

    def submit(self, draft: Draft) -> AnyAnswer:
        return self._ask(Submit(draft.fill(encoded(draft.take()))))

    def compute(self, draft: Draft, *objects: ObjectId) -> RequestId:
        """Submits, and waits for these objects with the same request."""
        request = self.world.request()
        submission = draft.fill(encoded(draft.take()))
        submission.fails_alone = True
        self.world.turn(Asked(self.id, request, Submit(submission, objects)))
        return request

    def close(self, session: SessionId) -> AnyAnswer:
        return self._ask(CloseSession(session))

    def unkeep(self, *objects: ObjectId) -> AnyAnswer:
        return self._ask(Unkeep(objects))

    def fetch(self, object_id: ObjectId) -> RequestId:
        request = self.world.request()
        self.world.turn(Asked(self.id, request, Fetch(object_id)))
        return request

    def take(self, *objects: ObjectId, keep: bool = False) -> AnyAnswer:
        """Has one more handle of each of these."""
        return self._ask(TakeHandles(objects, keep))

    def states(self, *tasks: TaskId, objects: tuple[ObjectId, ...] = ()) -> AnyAnswer:
        return self._ask(ReportsOf(tasks, objects))

    def wait(
        self,
        session: SessionId,
        *tasks: TaskId,
        objects: tuple[ObjectId, ...] = (),
        mode: str = "all",
    ) -> RequestId:
        request = self.world.request()
        self.world.turn(Asked(self.id, request, WaitFor(session, tasks, objects, mode)))
        return request

    def abandon(self, request: RequestId) -> None:
        self.world.turn(RequestAbandoned(self.id, request))

    def cancel(
        self,
        session: SessionId,
        *tasks: TaskId,
        objects: tuple[ObjectId, ...] = (),
        whole: bool = False,
        always: bool = False,
        recursive: bool = True,
        grace: float = OWN_GRACE,
    ) -> None:
        """Is interrupted while it waits, or cancels these even if somebody waits."""
        asked = Cancel(session, tasks, objects, whole, always, recursive, grace)
        self.world.turn(Said(self.id, asked))

    def cancel_unstarted(self, session: SessionId, *objects: ObjectId) -> AnyAnswer:
        """Cancels those of these that do not run yet."""
        return self._ask(CancelUnstarted(session, objects))

    def promise(self, *governors: Resources, says: str = "") -> AnyAnswer:
        """Says that it starts governors with these amounts."""
        return self._ask(Promise(governors, says))

    def by_name(self, name: str) -> list[DurableTask]:
        """The tasks of a durable session."""
        found = answer_of(self._ask(DurableTasks(name)), TasksByName)
        assert found.total == len(found.tasks)
        return [*found.tasks]

    def durable(self) -> list[DurableReport]:
        """All durable sessions."""
        return [*answer_of(self._ask(DurableSessions()), DurableReports).sessions]

    def remove(self, name: str) -> AnyAnswer:
        """Lets a durable session go."""
        return self._ask(RemoveDurable(name))

    def share(self, name: str, *users: str) -> AnyAnswer:
        """Lets these users open a durable session."""
        return self._ask(ShareDurable(name, users))

    def drop(self, *tasks: TaskId, objects: tuple[ObjectId, ...] = ()) -> None:
        """Has one handle less of each of these."""
        self.world.turn(Said(self.id, HandlesGone(tasks, objects)))

    def ask(self, what: AnyRequest) -> AnyAnswer:
        """Asks for anything, which may be refused."""
        return self._ask(what)

    def leave(self) -> None:
        self.world.clients.remove(self)
        self.world.turn(ClientLeft(self.id, "the test is over"))

    def _ask(self, what: AnyRequest) -> AnyAnswer:
        request = self.world.request()
        self.world.turn(Asked(self.id, request, what))
        while self.id in self.world.state.growing:  # a large submission takes several turns
            self.world.turn()
        return self.world.answers[request]
