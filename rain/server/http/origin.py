"""Detects requests that a browser has sent for a page of another site. No I/O.

Any web page can send requests to loopback. It cannot read the answers, unless its own host name
resolves to this machine (DNS rebinding): then `Host` has that name.
"""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit


def objection(host: str, origin: str, names: frozenset[str]) -> str:
    """Why a request with these headers is refused; "" if it is not."""
    if host and not _is_ours(host, names):
        return (
            "the header Host names another machine; start the server with --http-host NAME if that"
            " is a name of this one"
        )
    if origin and urlsplit(origin).netloc.lower() != host.lower():
        return "the request comes from a page of another site"
    return ""


def _is_ours(host: str, names: frozenset[str]) -> bool:
    """Whether a host is ours; addresses always are, because only names can be rebound."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return name in names or name == "localhost" or name.endswith(".localhost")
    return True
