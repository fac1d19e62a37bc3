"""All that a server knows and that turns depend on, as plain values that can be compared."""

from __future__ import annotations

from typing import Any

import attrs

from rain.server.core.state import State
from tests.support.snapshot import plain, snapshot

LEFT_OUT = {
    "settings",
    "graph",  # compared by itself
    "now",  # turns may be left out in which nothing has happened
    "succession",  # compared below, but for the numbers: they are only known of earlier servers
    "news",  # a new scheduler is told all anew
    "throttle",  # and is asked at once
    "estimates",  # numbers that only schedulers read
    "lessons",  # what is not in them yet
    "status",  # of the scheduler, for people
    "happenings",  # for the event log
    "ignored",  # for tests
    "silence_due",  # governors are looked at at once
    "limits_seen",  # and so are those that must be gone at some time
}


def whole(state: State) -> dict[str, Any]:
    """The graph without what schedulers keep in it, and what is waited for around it."""
    said = {
        field.name: plain(getattr(state, field.name))
        for field in attrs.fields(State)
        if field.name not in LEFT_OUT
    }
    said["cluster"] = state.succession.cluster
    said["generation"] = state.succession.generation
    for name in ("learned", "unneeded", "unwanted", "leaving", "departed", "remains"):
        said[name] = plain(getattr(state.graph, name))
    # What schedulers keep, and when a sign of life came last, is not written, and how much time a
    # governor has left depends on the last turn alone.
    return {**snapshot(state.graph, without=("sched", "heard", "left")), **said}
