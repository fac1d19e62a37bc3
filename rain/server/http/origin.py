"""Which requests a browser may have sent for a page of another site. Pure.

Any page that a user looks at can send requests to loopback. It may not read the answers, unless its
own name leads here, too (DNS rebinding): then `Host` has that name.
"""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit


def objection(host: str, origin: str, names: frozenset[str]) -> str:
    """Why a request with these headers is not answered; "" if it is."""
    if host and not _is_ours(host, names):
        return (
            "the header Host names another machine; start the server with --http-host NAME if that"
            " is a name of this one"
        )
    if origin and urlsplit(origin).netloc.lower() != host.lower():
        return "a page of another site asks"
    return ""


def _is_ours(host: str, names: frozenset[str]) -> bool:
    """Addresses are ours: only a name can be made to lead elsewhere."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return name in names or name == "localhost" or name.endswith(".localhost")
    return True
