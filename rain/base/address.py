"""Addresses as text: "host:port", with an IPv6 host in brackets."""

from __future__ import annotations

import ipaddress

from attrs import frozen

from rain.base.errors import ProtocolError

LOOPBACK = "127.0.0.1"
"""The host of everything that nobody gives another one."""

DEFAULT_PORT = 7210
"""The port of a server that nobody gives another one."""

DEFAULT_HTTP_PORT = 7222
"""The same of HTTP, where it has a port of its own."""


def spell_address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def split_address(address: str) -> tuple[str, int]:
    """Splits an address; the host has no brackets, and is empty if it is missing."""
    host, colon, port = address.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        colon = ""
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise ProtocolError(f"{address!r} is not an address: it must look like host:port")
    return host, int(port)


def without_scheme(text: str) -> str:
    """An address that may be given as the URL of the dashboard, which is at the same port.

    A password in the URL is left out: it is for browsers, and no message shall repeat it.
    """
    scheme, slashes, rest = text.partition("://")
    if slashes and scheme.lower() in ("http", "https"):
        return rest.partition("/")[0].rpartition("@")[2]
    return text


def part_address(text: str) -> tuple[str, str]:
    """Parts HOST, HOST:PORT, [HOST] or [HOST]:PORT; the port is "" if there is none.

    More than one colon without brackets is an IPv6 host alone. ValueError for an open bracket.
    """
    if text.startswith("["):
        host, bracket, rest = text[1:].partition("]")
        if not bracket or rest.partition(":")[0]:
            raise ValueError(f"{text!r} has a bracket that does not belong to an IPv6 address")
        return host, rest[1:]
    host, colon, port = text.rpartition(":")
    return (host, port) if colon and ":" not in host else (text, "")


def is_unspecified(host: str) -> bool:
    """Whether a host means "any address of mine": "", 0.0.0.0 or ::."""
    try:
        return not host or ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def seen_from_outside(announced: str, peer_host: str) -> str:
    """An announced address; if it has no host, with the host of the peer's connection."""
    host, port = split_address(announced)
    return spell_address(peer_host, port) if is_unspecified(host) else announced


SAME = ":0"
"""Sent by a server as its address: it means the address at which the peer has reached it. Only the
peer knows that address, because of tunnels and NAT.
"""


def seen_by_peer(announced: str, server: str) -> str:
    """An address that a server has announced, as a peer sees it that has reached it at `server`."""
    if announced == SAME:
        return server
    return seen_from_outside(announced, split_address(server)[0])


def plain_host(host: str) -> str:
    """A host from a socket, without the zone and the IPv6 prefix of a mapped IPv4 address."""
    bare = host.partition("%")[0]
    try:
        address = ipaddress.ip_address(bare)
    except ValueError:
        return bare
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return bare


@frozen
class Source:
    """The place of an object or a run: an address, and the incarnation that listens there.

    The incarnation is checked, because an address alone may lead to another program: one that was
    started there later or, for a loopback address, one on the reader's own machine.
    """

    address: str
    incarnation: int = 0

    def spell(self) -> str:
        return f"{self.address}#{self.incarnation}" if self.incarnation else self.address

    @staticmethod
    def read(text: str) -> Source:
        address, sign, number = text.partition("#")
        if sign and not number.isdecimal():
            raise ProtocolError(f"{text!r} names no holder of data")
        return Source(address, int(number) if sign else 0)
