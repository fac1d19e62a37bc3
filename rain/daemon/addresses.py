"""Parses addresses on command lines."""

from __future__ import annotations

from rain.base.address import part_address, without_scheme
from rain.base.errors import StartError


def parse_address(text: str, default_host: str, default_port: int) -> tuple[str, int]:
    """The host and port of PORT, HOST, HOST:PORT or a URL; a host of IPv6 may be in brackets."""
    text = without_scheme(text)
    try:
        host, port = ("", text) if text.isdigit() else part_address(text)
    except ValueError as error:
        raise StartError(str(error)) from None
    if port and not (port.isdigit() and int(port) < 65536):
        if port.isdigit():
            raise StartError(f"{port} is not a port: the largest one is 65535")
        raise StartError(f"{text!r} is not PORT, HOST or HOST:PORT")
    return host or default_host, int(port) if port else default_port


def parse_addresses(text: str, default_host: str, default_port: int) -> tuple[tuple[str, int], ...]:
    """Those of a server and its standbys, with commas between them."""
    parts = text.split(",")
    return tuple(parse_address(part.strip(), default_host, default_port) for part in parts)
