"""The border of the server: its last turns."""

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest
import structlog

from rain.base.failures import SessionFailure
from rain.base.ids import GovernorId, SessionId, TaskId
from rain.base.resources import Resources
from rain.base.wire.printed import PrintedLines, Watch
from rain.base.wire.requests import TakePrinted, WatchPrinted
from rain.rpc.handlers import ClientLink, FencedError, GovernorHello, GovernorLink
from rain.scheduler.rain import RainScheduler
from rain.server.clock import Clock
from rain.server.core.reactor_settings import ReactorSettings
from rain.server.core.state import State
from rain.server.service import Service
from rain.server.spool import Spool


def test_a_peer_whose_end_was_heard_just_before_the_server_ends_leaves_once(tmp_path: Path) -> None:
    # given
    state = State(ReactorSettings(debug=True))
    service = Service(RainScheduler, state, Clock(), structlog.get_logger(), Spool(tmp_path))
    client = service.registration.join_client(cast("ClientLink", object()))
    hello = GovernorHello(GovernorId(7), "127.0.0.1:1234", Resources(cpus=1))
    governor = service.registration.join_governor(hello, cast("GovernorLink", object()))
    service.hear_of_users(())  # with a turn
    assert state.graph.clients
    assert state.graph.governors
    # when
    client.left("its connection was closed")
    governor.left("its connection was closed", at_fault=False)
    service.leave_nobody("the server stops")
    # then
    assert not state.graph.clients
    assert not state.graph.governors


def test_nothing_that_comes_after_the_last_turn_makes_another_one(tmp_path: Path) -> None:
    """Peers that come then would be in the journal, and the next server would wait for them."""
    # given
    state = State(ReactorSettings(debug=True, returns=True))
    service = Service(RainScheduler, state, Clock(), structlog.get_logger(), Spool(tmp_path))
    service.registration.join_client(cast("ClientLink", object()))
    service.leave_nobody("the server stops")
    # when
    service.registration.join_client(cast("ClientLink", object()))
    service.hear_of_users(())
    with pytest.raises(FencedError):
        service.registration.join_client(cast("ClientLink", object()), b"of an earlier client")
    # then
    assert not state.graph.clients


class Heard:
    """A question for what was printed."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def answer(self, value: Sequence[PrintedLines], /) -> None:
        self.texts += [one.text for one in value]

    def refuse(self, reason: str | SessionFailure, /) -> None:
        raise AssertionError(reason)


def test_what_is_printed_after_a_question_was_given_up_is_for_the_next_one(tmp_path: Path) -> None:
    # given
    state = State(ReactorSettings(debug=True))
    service = Service(RainScheduler, state, Clock(), structlog.get_logger(), Spool(tmp_path))
    client = service.registration.join_client(cast("ClientLink", object()))
    service.hear_of_users(())  # with a turn
    client.say(WatchPrinted(Watch(frozenset([SessionId(1)]))))
    given_up, asked = Heard(), Heard()
    # when
    client.ask(TakePrinted(wait=True), given_up)
    client.abandoned(given_up)
    service.links.audience.printed("a:1", 1, [PrintedLines(TaskId(5), "talk", text="hello")])
    client.ask(TakePrinted(wait=False), asked)
    # then
    assert (given_up.texts, asked.texts) == ([], ["hello"])
