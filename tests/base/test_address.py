"""Addresses are written and read in one way."""

import pytest

from rain.base.address import (
    SAME,
    Source,
    is_unspecified,
    plain_host,
    seen_by_peer,
    seen_from_outside,
    spell_address,
    split_address,
    without_scheme,
)
from rain.base.errors import ProtocolError


@pytest.mark.parametrize(
    ("host", "port", "text"),
    [("node7", 80, "node7:80"), ("10.0.0.1", 0, "10.0.0.1:0"), ("::1", 7210, "[::1]:7210")],
)
def test_an_address_can_be_read_back(host: str, port: int, text: str) -> None:
    assert spell_address(host, port) == text
    assert split_address(text) == (host, port)


@pytest.mark.parametrize("text", ["", "host", "host:", "host:x", "::1:80", "host:70000", "host:-1"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ProtocolError, match="is not an address"):
        split_address(text)


@pytest.mark.parametrize("host", ["", "0.0.0.0", "::"])
def test_an_unspecified_host_means_where_the_peer_is(host: str) -> None:
    assert is_unspecified(host)
    assert seen_from_outside(spell_address(host, 5), "10.0.0.7") == "10.0.0.7:5"
    assert seen_from_outside(spell_address(host, 5), "fe80::7") == "[fe80::7]:5"


def test_a_named_host_stays() -> None:
    assert seen_from_outside("node7:5", "10.0.0.7") == "node7:5"


def test_the_address_of_a_server_is_the_one_at_which_the_peer_has_reached_it() -> None:
    assert seen_by_peer(SAME, "tunnel:7000") == "tunnel:7000"
    assert seen_by_peer("0.0.0.0:5", "tunnel:7000") == "tunnel:5"


def test_a_source_can_be_read_back() -> None:
    for source in (Source("node7:5", 12), Source("node7:5")):
        assert Source.read(source.spell()) == source
    with pytest.raises(ProtocolError, match="names no holder of data"):
        Source.read("node7:5#x")


def test_a_password_in_a_url_is_no_part_of_the_address() -> None:
    assert without_scheme("https://rain:password@node7:5/page") == "node7:5"
    assert without_scheme("node7:5") == "node7:5"


@pytest.mark.parametrize(
    ("told", "plain"),
    [("::ffff:10.0.0.1", "10.0.0.1"), ("fe80::1%eth0", "fe80::1"), ("1.2.3.4", "1.2.3.4")],
)
def test_hosts_of_sockets_are_written_plainly(told: str, plain: str) -> None:
    assert plain_host(told) == plain
