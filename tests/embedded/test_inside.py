"""The link between a server and a governor of one process."""

from collections.abc import Sequence
from typing import Any, cast

import pytest
import trio
from attrs import Factory, define

from rain.base.ids import GovernorId
from rain.base.resources import Resources
from rain.base.wire.answers import GovernorReport
from rain.base.wire.orders import Orders
from rain.base.wire.printed import PrintedLines
from rain.base.wire.update import Update
from rain.embedded.inside import ToGovernor, register
from rain.rpc.handlers import (
    ControlHandler,
    GovernorHandler,
    GovernorHello,
    GovernorLink,
    ServerHandler,
    ServerLink,
)

HELLO = GovernorHello(GovernorId(7), "127.0.0.1:1234", Resources(cpus=2))
REPORT = GovernorReport(HELLO.data_address, (), (), (), ())


@define
class GovernorDouble:
    """Notes what it is told; it answers an order with news, as a real one does in its next turn."""

    told: list[object] = Factory(list)

    def order(self, orders: Orders) -> None:
        self.told.append(orders)

    def report(self) -> GovernorReport:
        return REPORT

    def stop(self, reason: str) -> None:
        self.told.append(("stop", reason))

    def left(self, cause: str, *, at_fault: bool) -> None:
        self.told.append(("left", cause, at_fault))


@define
class ServerDouble:
    """A server with one governor, and its side of it."""

    address: str = HELLO.data_address
    link: GovernorLink | None = None
    told: list[object] = Factory(list)

    def join_governor(self, hello: GovernorHello, link: GovernorLink) -> GovernorHandler:
        assert hello is HELLO
        self.link = link
        return cast("GovernorHandler", self)

    def update(self, update: Update) -> None:
        self.told.append(update)

    def printed(self, watch: int, lines: Sequence[PrintedLines]) -> None:
        self.told.append((watch, lines))

    def drained(self) -> None:
        self.told.append("drained")

    def left(self, cause: str, *, at_fault: bool) -> None:
        self.told.append((cause, at_fault))


@define
class ReplyDouble:
    answers: list[object] = Factory(list)

    def answer(self, value: object) -> None:
        self.answers.append(value)

    def refuse(self, reason: object) -> None:
        raise AssertionError(reason)


@pytest.fixture
def governor() -> GovernorDouble:
    return GovernorDouble()


@pytest.fixture
def server() -> ServerDouble:
    return ServerDouble()


@pytest.fixture
def to_server(server: ServerDouble, governor: GovernorDouble) -> ServerLink:
    taken = cast("ServerHandler", server), HELLO, cast("ControlHandler", governor)
    link: ServerLink = trio.run(register, *taken)
    return link


def test_a_governor_that_joins_is_named_by_the_server(to_server: ServerLink) -> None:
    assert to_server.address == HELLO.data_address
    assert to_server.is_open
    assert not to_server.returns


def test_orders_and_news_arrive_as_they_are(
    server: ServerDouble, governor: GovernorDouble, to_server: ServerLink
) -> None:
    orders, update = Orders(number=1), Update(heard=1)
    assert isinstance(server.link, ToGovernor)
    server.link.order(orders)
    to_server.update(update)
    assert governor.told == [orders]
    assert governor.told[0] is orders
    assert server.told[0] is update


def test_a_report_is_answered_at_once(server: ServerDouble, to_server: ServerLink) -> None:
    reply: Any = ReplyDouble()
    assert server.link is not None
    server.link.report(reply)
    assert reply.answers == [REPORT]


def test_a_server_that_closes_the_link_is_lost_for_the_governor(
    server: ServerDouble, governor: GovernorDouble, to_server: ServerLink
) -> None:
    assert server.link is not None
    server.link.stop("it is over")
    server.link.close("no more")
    assert governor.told == [("stop", "it is over"), ("left", "no more", False)]


def test_the_server_hears_whether_a_governor_leaves_in_order_or_at_its_fault(
    server: ServerDouble, to_server: ServerLink
) -> None:
    trio.run(to_server.drained)
    to_server.reject("orders make no sense")
    to_server.close()
    assert server.told == [
        "drained",
        ("orders make no sense", True),
        ("the governor has ended", False),
    ]
