"""The addresses of a server and its standbys."""

from __future__ import annotations

import pytest

from rain.base.errors import ProtocolError, StartError
from rain.base.leading import SHORT_TRY, Servers


def test_addresses_are_tried_in_turn_and_each_once() -> None:
    servers = Servers.of("one:1, two:2,[::1]:3,one:1")
    assert servers.all == "one:1,two:2,[::1]:3"
    tried: list[str] = []
    for _ in servers.addresses:
        tried.append(servers.where)
        servers.try_next()
    assert tried == ["one:1", "two:2", "[::1]:3"]
    assert servers.where == "one:1"
    assert servers.others == (("two", 2), ("::1", 3))
    assert servers.includes("[::1]:3")
    assert not servers.includes("three:3")


def test_only_one_of_several_may_not_take_long() -> None:
    assert Servers.of("one:1").limit(10.0) == 10.0
    assert Servers.of("one:1,two:2").limit(10.0) == SHORT_TRY
    assert Servers.of("one:1,two:2").limit(1.0) == 1.0


def test_a_server_that_was_replaced_is_not_joined_again() -> None:
    servers = Servers.of("one:1,two:2")
    servers.accept(3)
    servers.accept(3)
    servers.try_next()
    servers.accept(4)
    servers.try_next()
    with pytest.raises(StartError, match=r"one:1 has been replaced: it has the generation 3"):
        servers.accept(3)


def test_what_is_no_address_is_refused() -> None:
    with pytest.raises(ProtocolError, match="'two' is not an address"):
        Servers.of("one:1,two")
