"""Checks whether only this machine can reach an address; other addresses need a secret."""

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
    """Refuses an address that other machines reach without a secret, unless the user insists."""
    if secret is None and not insecure and not is_loopback(host):
        raise StartError(
            f"anyone who reaches {host} could {risk}: use --tls or --secret-file, or --insecure to"
            " allow this"
        )


def or_user_key(secret: Secret | None, *hosts: str, insecure: bool = False) -> Secret | None:
    """The given secret, or the key of this user if all addresses are on loopback."""
    if secret is None and not insecure and all(is_loopback(host) for host in hosts):
        return user_key()[0]
    return secret
