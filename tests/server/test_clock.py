"""The clock of a server, and how it notices that it stood still."""

from __future__ import annotations

import time

from rain.base.silence import BEAT
from rain.server.clock import LATE, Clock, Pulse


def test_a_clock_begins_where_an_earlier_server_has_ended_if_that_is_later() -> None:
    ahead = time.time() + 1e6
    assert Clock(ahead).now() >= ahead
    assert Clock(5.0).now() < ahead


def test_a_server_that_looks_in_each_beat_did_not_stand_still() -> None:
    pulse = Pulse()
    looks = [1e9, 1e9 + BEAT, 1e9 + 1.5 * BEAT, 1e9 + 2.5 * BEAT + LATE]
    assert [pulse.stood_still(now) for now in looks] == [0.0] * len(looks)


def test_what_is_longer_than_a_beat_is_told_once() -> None:
    pulse = Pulse()
    pulse.stood_still(100.0)
    assert pulse.stood_still(107.0) == 7.0 - BEAT
    assert pulse.stood_still(107.0) == 0.0
