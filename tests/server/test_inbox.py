"""What asks for a turn at once, and what waits for others."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from rain.base.ids import GovernorId, ObjectId, TaskId
from rain.base.wire.update import FinishedTasks, Update
from rain.rpc.handlers import GovernorLink
from rain.server.core.inbox import Inbox
from rain.server.core.messages import GovernorUpdated
from rain.server.links import ConnectedGovernor, Links


def test_that_a_governor_lives_waits_for_others_and_its_news_do_not() -> None:
    # given
    rings: list[str] = []
    inbox = Inbox(lambda: rings.append("now"), lambda: rings.append("soon"))
    links = cast("Links", SimpleNamespace(inbox=inbox))  # the others need a server
    link = cast("GovernorLink", None)  # nothing is said to it
    governor = ConnectedGovernor(links, GovernorId(1), "h:1", link, returns=True)
    finished = FinishedTasks([TaskId(1)], [1], [0.1], [0], [], [])
    news = [
        Update(),
        Update(located=[ObjectId(1)]),
        Update(finished=finished),
        Update(heard=4),
        Update(heard=4),
    ]

    # when
    for update in news:
        governor.update(update)

    # then
    assert rings == ["soon", "now", "now", "now", "soon"]
    given = inbox.take(5.0, 0.0)
    assert given.from_governors == [GovernorUpdated(GovernorId(1), update) for update in news]
    assert inbox.take(6.0, 0.0).from_governors == []
