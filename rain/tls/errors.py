"""The exceptions of TLS, with one line for people."""

from __future__ import annotations


class TlsError(ConnectionError):
    """TLS does not work with the other side; `strerror` says why, about "it"."""

    def __init__(self, reason: str) -> None:
        super().__init__(None, reason)


class NotTlsError(TlsError):
    """What answers does not speak TLS."""
