"""Governors register with an incarnation that nobody else has, or is remembered to have had."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from rain.base.errors import ProtocolError
from rain.base.ids import GovernorId
from rain.base.resources import Resources
from rain.local.log import logger
from rain.rpc.handlers import GovernorHello, GovernorLink
from rain.server.core.inbox import Inbox
from rain.server.core.messages import ServerReturned
from rain.server.links import Links
from rain.server.registration import Registration
from rain.server.spool import Spool
from tests.support.returning import RETURNS
from tests.support.world import new_world


def test_an_incarnation_that_is_away_cannot_be_taken_by_a_newcomer(tmp_path: Path) -> None:
    # given: a governor without a connection, which may come back
    world = new_world(settings=RETURNS)
    away = world.governor(cpus=1)
    world.turn(ServerReturned())
    rung: list[str] = []
    inbox = Inbox(lambda: rung.append("now"), lambda: rung.append("soon"))
    spool = Spool(tmp_path)
    links = Links(inbox, logger(), spool, world.state)
    registration = Registration(world.state, links, spool, lambda: rung.append("turn"), logger())

    # when
    hello = GovernorHello(GovernorId(away.id), "h:1", Resources(1))
    with pytest.raises(ProtocolError, match="registered already"):
        registration.join_governor(hello, cast("GovernorLink", None))

    # then: the reactor does not hear of it
    assert not rung
