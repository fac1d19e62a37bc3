"""The addresses of the network interfaces of this machine."""

from __future__ import annotations

import fcntl
import ipaddress
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

from rain.base.errors import StartError

_SIOCGIFADDR = 0x8915
_IFREQ = 40
_GLOBAL = "00"


def address_of_interface(name: str) -> str:
    """The IPv4 address of an interface, or else its IPv6 address; `StartError` if it has none."""
    known = [one for _, one in socket.if_nameindex()]
    if name not in known:
        raise StartError(
            f"this machine has no network interface {name!r}; it has {', '.join(sorted(known))}"
        )
    found = _ipv4(name) or next(_ipv6(name), "")
    if not found:
        raise StartError(f"the network interface {name!r} has no address")
    return found


def _ipv4(name: str) -> str:
    """The first one, as the kernel says it; "" for none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        try:
            answer = fcntl.ioctl(asking, _SIOCGIFADDR, struct.pack(f"{_IFREQ}s", name.encode()))
        except OSError:  # it has none
            return ""
    return socket.inet_ntoa(answer[20:24])


def _ipv6(name: str) -> Iterator[str]:
    """Those that other machines can reach: an address of a link alone would need its zone."""
    table = Path("/proc/net/if_inet6")
    if not table.exists():  # a kernel without IPv6
        return
    for line in table.read_text().splitlines():
        digits, _, _, scope, _, interface = line.split()
        address = ipaddress.IPv6Address(bytes.fromhex(digits))
        if interface == name and (scope == _GLOBAL or address.is_loopback):
            yield str(address)
