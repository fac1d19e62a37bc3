"""A client whose futures are told what a test says. There is no server."""

from collections.abc import Generator, Sequence
from typing import Any

import pytest

from rain.base.errors import SessionFailedError
from rain.base.failures import SessionFailure
from rain.base.ids import ObjectId, TaskId
from rain.base.wire.answers import Delivery, WaitAnswer
from rain.base.wire.submission import Submission
from rain.client import Client
from rain.client.futures.sending import CallSender
from rain.common.content_type import encode_value
from tests.client.fake import FakeConnection


def add(a: int, b: int = 0) -> int:
    return a + b


class Server:
    """Answers what the futures of one client ask, when a test says so."""

    def __init__(self) -> None:
        self.connection = FakeConnection()
        self.client = Client.over(self.connection)

    @property
    def submission(self) -> Submission:
        """The last one."""
        return self.connection.submissions[-1]

    @property
    def told(self) -> int:
        return sum(len(one.tasks.ids) for one in self.connection.submissions)

    def outputs(self) -> list[ObjectId]:
        return [one for each in self.connection.submissions for one in each.tasks.outputs]

    def news(
        self, finished: Sequence[tuple[ObjectId, Any]], failed: Sequence[ObjectId] = ()
    ) -> None:
        """Answers the follower: these have finished with these values, and those have failed."""
        answer = WaitAnswer(objects=[*(one for one, _ in finished), *failed], failed=list(failed))
        answer.tasks = [TaskId(one) for one in answer.objects]  # only their number counts
        for object_id, value in finished:
            deliver(answer.delivery, object_id, value)
        _, then = self.connection.followed.pop()
        then(answer)

    def why(self, error: Exception) -> None:
        """Answers who asks why a call has failed."""
        _, then = self.connection.asked_why.pop()
        task = self.submission.tasks.ids[0]
        then(SessionFailedError(SessionFailure("oh", task=task, exception=pickled(error))))

    def arrived(self, value: Any) -> None:
        """Answers the submission of a call that somebody waits for."""
        (wanted, then) = self.connection.answers.pop()
        answer = WaitAnswer(objects=list(wanted))
        deliver(answer.delivery, wanted[0], value)
        then(answer)


def deliver(delivery: Delivery, object_id: ObjectId, value: Any) -> None:
    data = encode_value(value, "pickle")
    delivery.ids.append(object_id)
    delivery.sizes.append(len(data))
    delivery.content_types.append("")
    delivery.data.append(data)


def pickled(error: Exception) -> bytes:
    return encode_value(error, "cloudpickle")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Generator[Server]:
    """A client whose calls are sent when somebody waits, or by `map`, so that tests know when."""
    monkeypatch.setattr(CallSender, "soon", CallSender.sent)
    made = Server()
    try:
        yield made
    finally:
        made.connection.errors.clear()
        made.client.close()
