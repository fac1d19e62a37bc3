"""How long one message may be."""

from rain.base.errors import ProtocolError

MESSAGE_LIMIT = 64 * 1024 * 1024
"""Bytes of one message. Senders split what is longer; receivers refuse it by name."""


def check_size(what: str, message: bytes) -> bytes:
    """Refuses a message that is longer than one may be."""
    if len(message) > MESSAGE_LIMIT:
        raise ProtocolError(
            f"{what}: {len(message)} bytes in one message; the limit is {MESSAGE_LIMIT}"
        )
    return message
