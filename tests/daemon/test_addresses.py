"""Addresses as people write them, and those of network interfaces."""

from __future__ import annotations

import re

import pytest

from rain.base.errors import StartError
from rain.client.reaching.addresses import host_and_port
from rain.common.errors import RainException
from rain.daemon.addresses import parse_address, parse_addresses
from rain.daemon.interfaces import address_of_interface

IPV6 = [
    ("[::1]:80", ("::1", 80)),
    ("[::1]", ("::1", 7210)),
    ("::1", ("::1", 7210)),
    ("fe80::2%eth0", ("fe80::2%eth0", 7210)),
]


@pytest.mark.parametrize(
    ("text", "address"),
    [("80", ("here", 80)), ("node", ("node", 7210)), ("node:80", ("node", 80)), *IPV6],
)
def test_what_is_not_said_is_what_is_usual(text: str, address: tuple[str, int]) -> None:
    assert parse_address(text, "here", 7210) == address


def test_a_server_and_its_standbys_are_parted_at_commas() -> None:
    found = parse_addresses("[::1]:80, node", "here", 7210)
    assert found == (("::1", 80), ("node", 7210))


@pytest.mark.parametrize("text", ["[::1", "[::1]80", "node:port", "node:70000"])
def test_what_is_no_address_is_told_in_one_line(text: str) -> None:
    with pytest.raises(StartError, match=re.escape(text.removeprefix("node:7"))):
        parse_address(text, "here", 7210)


@pytest.mark.parametrize(("text", "address"), IPV6)
def test_clients_read_addresses_in_the_same_way(text: str, address: tuple[str, int]) -> None:
    assert host_and_port(text, None) == address


def test_a_port_is_said_once() -> None:
    assert host_and_port("[::1]", 80) == ("::1", 80)
    with pytest.raises(RainException, match="the port is given twice"):
        host_and_port("[::1]:80", 81)
    with pytest.raises(RainException, match="bracket"):
        host_and_port("[::1", 80)


def test_an_address_with_the_scheme_of_others_is_refused_without_its_password() -> None:
    with pytest.raises(RainException, match="has no tcp:// before it: write 'head:8786'"):
        host_and_port("tcp://me:secret@head:8786/", None)


def test_an_interface_stands_for_its_address() -> None:
    assert address_of_interface("lo") == "127.0.0.1"


def test_an_interface_that_is_not_there_is_named_beside_those_that_are() -> None:
    with pytest.raises(StartError, match=r"no network interface 'ib7'; it has .*\blo\b"):
        address_of_interface("ib7")
