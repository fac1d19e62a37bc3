"""Clients that watch are told what tasks print, and a slow one holds up nobody."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import Factory, define

from rain.base.failures import SessionFailure
from rain.base.ids import ClientId, GovernorId, SessionId, TaskId
from rain.base.wire.answers import GovernorReport, RunningTask
from rain.base.wire.orders import Orders
from rain.base.wire.printed import PrintedLines, Watch
from rain.rpc.handlers import GovernorLink, Reply
from rain.server.audience import MOST_WAITING, Audience

ANN, BEN = ClientId(1), ClientId(2)
FIRST = Watch(frozenset([SessionId(1)]))
SECOND = Watch(frozenset([SessionId(2)]))


@define(eq=False)
class Told:
    """A governor that keeps what it is told."""

    watches: list[tuple[int, Watch | None]] = Factory(list)

    def watch(self, number: int, watch: Watch | None) -> None:
        self.watches.append((number, watch))

    def running(self, task: TaskId, reply: Reply[RunningTask]) -> None: ...

    def order(self, orders: Orders) -> None: ...

    def report(self, reply: Reply[GovernorReport]) -> None: ...

    def call_back(self, ticket: bytes) -> None: ...

    def stop(self, reason: str) -> None: ...

    def close(self, reason: str) -> None: ...


@define(eq=False)
class Heard:
    """A client's question; None while it waits."""

    text: str | None = None
    lines: Sequence[PrintedLines] = ()

    def answer(self, value: Sequence[PrintedLines], /) -> None:
        assert self.text is None
        self.lines = value
        self.text = "".join(one.text for one in value)

    def refuse(self, reason: str | SessionFailure, /) -> None:
        raise AssertionError(reason)


@define(eq=False)
class Scene:
    """An audience with one governor."""

    governor: Told = Factory(Told)
    governors: dict[GovernorId, GovernorLink] = Factory(dict)
    audience: Audience = Factory(lambda self: Audience(self.governors), takes_self=True)

    def __attrs_post_init__(self) -> None:
        self.governors[GovernorId(7)] = self.governor

    def prints(self, number: int, text: str) -> None:
        self.audience.printed("there:1", number, [PrintedLines(TaskId(5), "talk", text=text)])

    def ask(self, client: ClientId, *, wait: bool = True) -> Heard:
        heard = Heard()
        self.audience.ask(client, wait, heard)
        return heard


def test_a_client_that_watches_gets_lines_with_the_name_of_their_governor() -> None:
    s = Scene()
    s.audience.watch(ANN, FIRST)
    ((number, watch),) = s.governor.watches
    assert watch == FIRST
    heard = s.ask(ANN)
    assert heard.text is None
    s.prints(number, "one\n")
    assert heard.text == "one\n"
    assert heard.lines[0].governor == "there:1"
    s.prints(number, "two\n")
    s.prints(number, "three\n")
    assert s.ask(ANN).text == "two\nthree\n"
    assert s.ask(ANN, wait=False).text == ""


def test_each_client_is_told_what_it_watches_itself() -> None:
    s = Scene()
    s.audience.watch(ANN, FIRST)
    s.audience.watch(BEN, SECOND)
    (ann, _), (ben, _) = s.governor.watches
    s.prints(ann, "for Ann")
    s.prints(ben, "for Ben")
    assert (s.ask(ANN).text, s.ask(BEN).text) == ("for Ann", "for Ben")


def test_a_governor_that_joins_is_told_what_is_watched() -> None:
    s, late = Scene(), Told()
    s.audience.watch(ANN, FIRST)
    s.audience.watch(BEN, SECOND)
    s.audience.watch(ANN, None)
    s.audience.joined(late)
    assert [watch for _, watch in late.watches] == [SECOND]


def test_the_same_watch_again_is_not_told_again() -> None:
    s = Scene()
    s.audience.watch(ANN, FIRST)
    s.audience.watch(ANN, FIRST)
    assert len(s.governor.watches) == 1


def test_a_client_that_ends_a_watch_gets_the_lines_before_it_and_none_after_it() -> None:
    s = Scene()
    s.audience.watch(ANN, FIRST)
    ((number, _),) = s.governor.watches
    s.prints(number, "before")
    s.audience.watch(ANN, None)
    s.prints(number, "late")
    assert s.ask(ANN).text == "before"
    assert s.ask(ANN).text == ""
    assert s.governor.watches[-1] == (number, None)


def test_a_question_that_waits_is_answered_when_the_watch_ends() -> None:
    s = Scene()
    s.audience.watch(ANN, FIRST)
    heard = s.ask(ANN)
    s.audience.watch(ANN, None)
    assert heard.text == ""


def test_a_second_question_ends_the_first_one() -> None:
    s = Scene()
    s.audience.watch(ANN, FIRST)
    first, second = s.ask(ANN), s.ask(ANN)
    assert (first.text, second.text) == ("", None)


def test_nothing_is_told_to_who_watches_nothing() -> None:
    s = Scene()
    s.audience.watch(ANN, None)
    assert s.ask(ANN).text == ""
    assert s.governor.watches == []


def test_governors_are_told_of_a_client_that_has_left_and_nothing_is_kept_for_it() -> None:
    s = Scene()
    s.audience.watch(ANN, FIRST)
    ((number, _),) = s.governor.watches
    s.audience.left(ANN)
    s.audience.left(BEN)
    assert s.governor.watches == [(number, FIRST), (number, None)]
    s.prints(number, "late")
    assert s.ask(ANN).text == ""


def test_lines_that_a_client_does_not_read_are_only_counted() -> None:
    s = Scene()
    s.audience.watch(ANN, FIRST)
    ((number, _),) = s.governor.watches
    for _ in range(100):
        s.prints(number, "x" * 10_000)
    heard = s.ask(ANN)
    assert heard.text is not None
    assert MOST_WAITING - 10_000 < len(heard.text) <= MOST_WAITING
    last = heard.lines[-1]
    assert (last.task, last.left_out) == (0, 1_000_000 - len(heard.text))
    s.prints(number, "later")
    assert s.ask(ANN).text == "later"
