"""Signal handlers, which come in the middle of whatever the main thread does."""

import signal
import threading
from collections.abc import Callable, Generator
from types import FrameType

import pytest

from rain.base.ids import SHARED_RANGE, ObjectId, pack
from rain.base.wire.submission import Submission
from rain.client import RainException, Session
from rain.client.numbers import SharedNumbers
from rain.client.tasks import Concat
from tests.client.fake import World


@pytest.fixture
def handler() -> Generator[list[Callable[[], object]]]:
    """What a handler of the main thread does, one thing for each signal."""
    todo: list[Callable[[], object]] = []

    def handle(number: int, frame: FrameType | None) -> None:
        todo.pop(0)()

    before = signal.signal(signal.SIGUSR1, handle)
    yield todo
    signal.signal(signal.SIGUSR1, before)


def interrupting(send: Callable[[Submission], object]) -> Callable[[Submission], None]:
    """A sending in the middle of which signals come."""

    def sent(submission: Submission) -> None:
        if len(submission.tasks.ids) > 1:  # the first one
            signal.raise_signal(signal.SIGUSR1)
        send(submission)

    return sent


def submitted(session: Session, names: list[str]) -> Callable[[], None]:
    def submit() -> None:
        with session.bind_only():
            for name in names:
                Concat([], name=name)
        session.submit()

    return submit


def test_a_handler_may_submit_while_the_main_thread_submits(
    here: World, handler: list[Callable[[], object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(here.server, "submit", interrupting(here.server.submit))
    handler.append(submitted(here.session, ["handler"]))

    submitted(here.session, ["a", "b"])()

    names = [[kind.name for kind in sent.task_kinds] for sent in here.server.submissions]
    assert names == [["a", "b"], ["handler"]]
    assert here.session.task_count == 0
    assert here.session.submits == 2


def test_what_a_handler_submits_waits_when_the_interrupted_submit_is_refused(
    here: World, handler: list[Callable[[], object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Submission) -> None:
        raise RainException("refused")

    plain = here.server.submit
    monkeypatch.setattr(here.server, "submit", interrupting(refuse))
    handler.append(submitted(here.session, ["handler"]))
    with pytest.raises(RainException, match="refused"):
        submitted(here.session, ["a", "b"])()
    monkeypatch.setattr(here.server, "submit", plain)

    here.session.submit()

    assert [len(sent.tasks.ids) for sent in here.server.submissions] == [3]


def test_a_handler_may_let_go_of_objects_while_the_main_thread_does(
    here: World, handler: list[Callable[[], object]]
) -> None:
    def interrupt() -> None:
        if handler and threading.current_thread() is threading.main_thread():
            signal.raise_signal(signal.SIGUSR1)

    here.server.on_unkeep = interrupt
    keeper = here.client.housekeeper
    handler.append(keeper.flush)
    for number in range(10, 20):
        keeper.drop(ObjectId(pack(here.session.session_id, number)), holds_data=True)
        keeper.flush()

    assert len(here.server.unkept) == 10


def test_a_handler_may_need_numbers_while_more_are_asked_for() -> None:
    given = iter(range(0, 10 * SHARED_RANGE, SHARED_RANGE))
    taken: list[int] = []

    def next_range() -> int:
        first = next(given)
        if first == 0:
            taken.append(numbers())
        return first

    numbers = SharedNumbers(next_range)
    taken += [numbers() for _ in range(3 * SHARED_RANGE)]

    assert len(set(taken)) == len(taken)
