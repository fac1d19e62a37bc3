"""Which addresses only this machine reaches, and why others need a secret."""

from __future__ import annotations

import ipaddress

from rain.base.admission import Secret
from rain.base.errors import StartError
from rain.daemon.user_key import user_key


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a host of this name."""
    bare = host.strip("[]").lower()
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


def or_user_key(secret: Secret | None, *hosts: str, insecure: bool = False) -> Secret | None:
    """The secret that was named, or the key of this user if only this machine is spoken to."""
    if secret is None and not insecure and all(is_loopback(host) for host in hosts):
        return user_key()[0]
    return secret
