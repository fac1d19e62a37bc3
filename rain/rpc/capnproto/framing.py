"""Cuts a stream of bytes into messages of Cap'n Proto, and says how long one may be. Pure.

A message begins with its segment table: how many segments follow the first one, how many words
each of them has, four bytes for each number, filled up to a whole word. The segments follow.
"""

from __future__ import annotations

from struct import Struct, unpack_from

from rain.base.errors import ProtocolError
from rain.base.sizes import spell_size
from rain.rpc.cutting import Cutter

WORD = 8
_COUNT = Struct("<I")

SEGMENTS_LIMIT = 512
"""More segments than these are not read; pycapnp itself refuses as many."""


MESSAGE_LIMIT = 64 * 1024 * 1024
"""Bytes of one message. Senders split what is longer; receivers refuse it by name."""


def check_size(what: str, message: bytes) -> bytes:
    """Refuses a message that is longer than one may be."""
    if len(message) > MESSAGE_LIMIT:
        raise ProtocolError(
            f"{what}: {len(message)} bytes in one message; the limit is {MESSAGE_LIMIT}"
        )
    return message


class Framer(Cutter):
    """Cuts a stream of bytes into messages."""

    def __init__(self, longest: int) -> None:
        super().__init__(WORD)
        self.longest = longest
        """Bytes of one message; a longer one is refused as soon as its beginning is here."""

    def _length(self, chunk: bytes, start: int) -> int:
        available = len(chunk) - start
        if available < WORD:
            return WORD
        segments: int = _COUNT.unpack_from(chunk, start)[0] + 1
        if segments > SEGMENTS_LIMIT:
            raise ProtocolError(
                f"a message of {segments} segments; is the other side a Rain program?"
            )
        table = (4 + 4 * segments + WORD - 1) // WORD * WORD
        if available < table:
            return table
        length: int = table + WORD * sum(unpack_from(f"<{segments}I", chunk, start + 4))
        if length > self.longest:
            raise ProtocolError(
                f"a message of {spell_size(length)}; the limit is {spell_size(self.longest)}"
            )
        return length
