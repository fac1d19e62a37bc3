"""Checks and reads the address and the port of `Client`."""

from __future__ import annotations

from collections.abc import Sequence

from rain.base.address import DEFAULT_PORT, part_address, without_scheme
from rain.common.errors import RainException


def check_address(address: object, port: object) -> None:
    """A port alone, as the address or without one, would be taken for something else."""
    parts: Sequence[object] = address if isinstance(address, list | tuple) else (address,)
    if not parts:
        raise RainException("the list of addresses is empty: name the server and its standbys")
    if not all(isinstance(part, str) for part in parts):
        raise RainException(
            f'the address is {address!r}; write Client("localhost", 7210) or'
            ' Client("localhost:7210") for a server that runs already'
        )
    if port is not None and not address:
        raise RainException(
            f"there is a port ({port}) and no address: write"
            f' Client("localhost", {port}) for a server that runs already on this machine'
        )


def host_and_port(address: str, port: int | str | None) -> tuple[str, int]:
    """The address of the server; RainException if the port was given twice."""
    address = without_scheme(address)
    scheme, slashes, rest = address.partition("://")
    if slashes:
        plain = rest.partition("/")[0].rpartition("@")[2]
        raise RainException(
            f"an address of a Rain server has no {scheme}:// before it: write {plain!r}"
        )
    try:
        host, said = part_address(address)
    except ValueError as error:
        raise RainException(str(error)) from None
    if not said:
        return host, _checked_port(DEFAULT_PORT if port is None else port)
    if port is not None:
        raise RainException(f"the port is given twice: in {address!r}, and as {port!r}")
    return host, _checked_port(said)


def hosts_and_ports(address: str | Sequence[str], port: int | str | None) -> list[tuple[str, int]]:
    """The addresses of the server and its standbys, which text has with commas between them."""
    parts = address.split(",") if isinstance(address, str) else address
    return [host_and_port(part.strip(), port) for part in parts]


def _checked_port(port: int | str) -> int:
    try:
        number = int(port)
    except ValueError:
        number = -1
    if not 0 < number < 2**16:
        raise RainException(f"{port!r} is not a port: use a number from 1 to 65535")
    return number
