"""Cuts Cap'n Proto messages out of a byte stream, and follows the pointers in them. Pure.

A message begins with its segment table: the number of segments minus one, then the number of words
of each segment, as numbers of four bytes, padded to a whole word. The segments follow, one after
the other. So a place is an offset from the beginning of the message, and only pointers between
segments need the offsets of segments.

A malicious message may contain pointer cycles, or claim to have millions of empty entries. So every
word that is read is counted: at most twice the length of the message is read, and structs are
nested no deeper than `DEEPEST`.
"""

from __future__ import annotations

import sys
from struct import Struct, error, unpack_from
from typing import Final

from rain.base.errors import ProtocolError
from rain.base.sizes import spell_size
from rain.rpc.cutting import Cutter

MESSAGE_LIMIT: Final = 64 * 1024 * 1024
"""Bytes of one message. Senders split what is longer; receivers refuse it by name."""

SEGMENTS_LIMIT: Final = 512
"""A message with more segments is refused, as by pycapnp."""

DEEPEST: Final = 32
"""How deep structs may be nested."""

SPARE_WORDS: Final = 64
"""A reader may read twice the words of a message, and this many more."""

WORD: Final = 8
POINTER: Final = Struct("<Q")
_COUNT: Final = Struct("<I")

NULL, LIST, FAR, OBJECT = 0, 1, 2, 3
"""The two lowest bits of a pointer; those of a pointer to a struct are 0, too."""

BYTE, POINTERS, COMPOSITE = 2, 6, 7
"""The kind of a list's entries, as its pointer says."""

CHOICE: Final = Struct("<H")
"""Which member of a union is there."""

NATIVE: Final = sys.byteorder == "little"
"""Whether columns of numbers are in memory as they are in messages."""

_BEHIND: Final = 1 << 29  # the highest bit of how far it is to the target


class UnreadableError(ProtocolError):
    """A message is not what its schema says."""


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
        table = _table(segments)
        if available < table:
            return table
        length: int = table + WORD * sum(unpack_from(f"<{segments}I", chunk, start + 4))
        if length > self.longest:
            raise ProtocolError(
                f"a message of {spell_size(length)}; the limit is {spell_size(self.longest)}"
            )
        return length


class Message:
    """The bytes of a message, its segments, and how many words may still be read."""

    __slots__ = ("content", "end", "segments", "view", "words")

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.view = memoryview(content)
        self.words = 2 * (len(content) // WORD) + SPARE_WORDS
        try:
            count = _COUNT.unpack_from(content)[0] + 1
            lengths = unpack_from(f"<{count}I", content, 4)
        except (error, MemoryError):
            raise UnreadableError("a message without its table of segments") from None
        end = _table(count)
        self.segments: list[int] = []  # where each begins
        for length in lengths:
            self.segments.append(end)
            end += WORD * length
        self.end = end
        if end > len(content):
            raise UnreadableError("a message that is shorter than it says")

    def target(self, place: int, word: int) -> tuple[int, int]:
        """The target of a pointer that is not null, and the pointer. A far pointer leads to another
        pointer in its segment, which is returned then.
        """
        if word & 3 == FAR:
            return self._far(word)
        between = (word & 0xFFFF_FFFF) >> 2
        if between & _BEHIND:
            between -= 2 * _BEHIND
        start = place + WORD + WORD * between
        if start < self.segments[0]:
            raise UnreadableError("a pointer out of its message")
        return start, word

    def take(self, start: int, words: int) -> None:
        """Counts words before they are read: they must be inside the message and within the
        limit.
        """
        self.words -= words
        if self.words < 0 or start + WORD * words > self.end:
            raise self.refusal()

    def refusal(self) -> UnreadableError:
        """Why words that were taken cannot be read."""
        if self.words < 0:
            return UnreadableError("a message whose parts are read again and again")
        return UnreadableError("a pointer out of its message")

    def _far(self, word: int) -> tuple[int, int]:
        pad = self._landing(word)
        landed: int = POINTER.unpack_from(self.content, pad)[0]
        if word & 4:  # the target has no room for a pointer beside it: two words describe it
            self.take(pad, 2)
            return self._landing(landed), POINTER.unpack_from(self.content, pad + WORD)[0]
        if landed & 3 == FAR or not landed:
            raise UnreadableError("a pointer into another segment that leads nowhere")
        return self.target(pad, landed)

    def _landing(self, word: int) -> int:
        segment = word >> 32
        if word & 3 != FAR or segment >= len(self.segments):
            raise UnreadableError("a pointer into a segment that is not there")
        place = self.segments[segment] + WORD * ((word & 0xFFFF_FFFF) >> 3)
        self.take(place, 1)
        return place


def _table(segments: int) -> int:
    """Bytes of the table of this number of segments."""
    return (4 + 4 * segments + WORD - 1) // WORD * WORD
