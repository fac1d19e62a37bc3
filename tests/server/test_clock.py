"""The clock of a server never shows a time before one that its state knows."""

from __future__ import annotations

import time

from rain.server.clock import Clock


def test_a_clock_begins_where_an_earlier_server_has_ended_if_that_is_later() -> None:
    ahead = time.time() + 1e6
    assert Clock(ahead).now() >= ahead
    assert Clock(5.0).now() < ahead
