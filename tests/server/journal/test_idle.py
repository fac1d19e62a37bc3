"""What goes on without any input is written to the journal, also when it is new to the server."""

from __future__ import annotations

from types import CodeType

import attrs
import pytest

from rain.base.ids import SessionId
from rain.graph import Graph, Session
from rain.server.core.back_off import BackOff
from rain.server.core.failed_fetches import FailedFetches
from rain.server.core.infeasible import Infeasible
from rain.server.core.later_orders import LaterOrders
from rain.server.core.nested_sessions import NestedSessions
from rain.server.core.state import State
from rain.server.journal.idle import is_idle
from tests.support.world import new_world

ONLY_WITH_INPUT: dict[type, set[str]] = {
    State: {
        *("settings", "graph", "throttle", "estimates", "status", "now", "happenings", "ignored"),
        *("waits", "not_started", "succession", "durable"),
        "usage",  # of `lessons`, and of tasks and data that come or go
        "metering",  # of these, and of rules
        "transfers",  # that governors tell of
        "silence_due",  # what comes of that is in the record
        "limits_seen",  # whatever waits when the second changes is looked at
        *("_effects", "_again", "_orders"),  # of one turn
    },
    BackOff: {"last", "blamed"},
    FailedFetches: {"remade"},
    Infeasible: set(),
    LaterOrders: set(),
    NestedSessions: {"nests"},
    Graph: {
        *("clients", "sessions", "tasks", "objects", "governors", "linked", "learned", "sched"),
        *("last_session", "last_governor", "last_order", "former_readers", "speculates"),
        "suspects",  # of `circles_due`
        "held",  # of `nested` and `durable`
        *("watched", "shadowed"),  # of `late_due` and `shadows`
        *("has_needs", "has_exchanges", "users", "has_users"),
    },
}
"""What a turn without input does not change."""


@pytest.mark.parametrize("kind", ONLY_WITH_INPUT)
def test_each_field_goes_on_by_itself_or_changes_only_with_input(kind: type) -> None:
    code = is_idle.__code__
    assert isinstance(code, CodeType)
    looked_at = set(code.co_names)
    if "__bool__" in vars(kind):  # which it asks for
        looked_at.update(vars(kind)["__bool__"].__code__.co_names)
    fields = {field.name for field in attrs.fields(kind)}
    assert fields == (fields & looked_at) | ONLY_WITH_INPUT[kind] | (fields & {"graph", "news"})
    assert not (ONLY_WITH_INPUT[kind] - {"graph"}) & looked_at


def test_a_server_that_has_something_to_do_is_not_at_rest() -> None:
    state = State()
    assert is_idle(state, state.now)
    state.lessons.append({})
    assert not is_idle(state, state.now)


def test_a_session_that_was_left_is_at_rest_as_long_as_it_has_anything() -> None:
    world = new_world()
    client = world.client()
    draft = client.session()
    draft.task(keep=True)
    client.submit(draft)
    world.state.news.submitted.clear()
    (session,) = world.state.graph.sessions.values()
    world.state.left[session] = ""
    assert is_idle(world.state, world.state.now)
    world.state.left[Session(SessionId(9), session.client)] = ""
    assert not is_idle(world.state, world.state.now)
