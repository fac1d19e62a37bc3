"""Chooses the credentials of a client: a secret, a certificate, or none."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import frozen

from rain.base.admission import TLS_FILE, MemberKind, Secret
from rain.base.errors import StartError
from rain.common.errors import RainException
from rain.common.secret_file import read_secret, secret_from_environment
from rain.daemon.exposure import or_user_key

if TYPE_CHECKING:
    from rain.tls.identity import Identity

log = logging.getLogger("rain.client")


@frozen
class Credentials:
    """The credentials in the arguments of `Client`; others come from the program's environment."""

    secret: str | bytes | None = None
    secret_file: str | PathLike[str] | None = None
    tls: str | PathLike[str] | None = None
    insecure: bool = False

    def choose_secret(self, hosts: Sequence[str], *, encrypted: bool) -> Secret | None:
        """The secret that is meant, or the one of this user for a server of this machine."""
        secret, secret_file = self.secret, self.secret_file
        if self.insecure:
            if secret is not None or secret_file is not None:
                raise RainException("insecure=True means that there is no secret: leave it out")
            return None
        if secret is not None and secret_file is not None:
            raise RainException("secret and secret_file both name the secret: give one of them")
        try:
            if secret is not None:
                return Secret.of(secret)
            if secret_file is not None:
                return read_secret(Path(secret_file))
            return or_user_key(secret_from_environment(os.environ), *hosts, insecure=encrypted)
        except (ValueError, StartError) as error:
            raise RainException(str(error)) from None

    def choose_identity(self) -> Identity | None:
        """The certificate that is meant, or None if nothing is encrypted."""
        named = os.environ.get(TLS_FILE, "") if self.tls is None else os.fspath(self.tls)
        if self.insecure:
            if self.tls is not None:
                raise RainException("insecure=True means that nothing is encrypted: leave tls out")
            return None
        if not named or named == "none":
            return None
        # It brings the ssl module along.
        from rain.tls.identity import Identity  # noqa: PLC0415

        try:
            identity = Identity.read(Path(named), MemberKind.CLIENT)
        except StartError as error:
            raise RainException(str(error)) from None
        warning = identity.warning(time.time())
        if warning:
            log.warning(warning)
        return identity
