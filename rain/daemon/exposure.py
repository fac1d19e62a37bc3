"""Which addresses only this machine reaches, and why others need a secret."""

from __future__ import annotations

import ipaddress

from rain.base.admission import Secret
from rain.base.errors import StartError


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a host of this name."""
    bare = host.strip("[]")
    try:
        return ipaddress.ip_address(bare).is_loopback
    except ValueError:
        return bare == "localhost"


def check_exposure(host: str, secret: Secret | None, *, insecure: bool, risk: str) -> None:
    """Refuses an address that others reach, unless they need a secret or the user insists."""
    if secret is None and not insecure and not is_loopback(host):
        raise StartError(
            f"whoever reaches {host} could {risk}: name a --secret-file, or say --insecure if"
            " everybody who reaches it may"
        )
