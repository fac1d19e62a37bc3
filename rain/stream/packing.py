"""Decides when a body is compressed, and defines the format of its blocks. No I/O: time is an
argument.

A body in blocks is a sequence of segments. A segment is any number of plain bytes, or one
compressed block. So a sender may decide again for every block, and plain bytes still go from the
file to the socket inside the kernel.
"""

from __future__ import annotations

from math import inf
from struct import Struct

from attrs import define, frozen

from rain.base.errors import ProtocolError

BLOCK = 256 * 1024
"""Bytes that are compressed at once: they stay in the caches of a processor."""

LARGEST_BLOCK = 1024 * 1024
"""The largest compressed block that a reader takes. No other memory is needed for it."""

IN_BLOCKS_FROM = 256 * 1024
"""A smaller body is always sent as it is."""

PROBE = 1024 * 1024
"""Bytes that are sent uncompressed to measure an unknown link."""

STRETCH = 16 * 1024 * 1024
"""Bytes that are sent uncompressed after a block that was not worth compressing, until the next
try.
"""

SPAN, ENOUGH = 0.02, 256 * 1024
"""Seconds, and bytes, after which the speed of a link is known."""

WORTH = 1.25
"""The factor by which compression has to speed up a body to be worth the CPU time."""

TOO_FAST = 400e6
"""Links faster than this many bytes per second are never tried: no processor can keep up."""

_HEADER = Struct("!QI")
HEADER_SIZE = _HEADER.size


@frozen
class Segment:
    """The header of a segment."""

    length: int  # of the object's bytes
    packed: int = 0  # bytes that follow if they are compressed; 0 if they are as they were

    @property
    def follows(self) -> int:
        """How many bytes follow."""
        return self.packed or self.length

    def encode(self) -> bytes:
        return _HEADER.pack(self.length, self.packed)

    @staticmethod
    def decode(data: bytes, left: int) -> Segment:
        """A segment of a body with `left` bytes to come; ProtocolError if it cannot be one."""
        segment = Segment(*_HEADER.unpack(data))
        if not 0 < segment.length <= left:
            raise ProtocolError(
                f"a stream sends a segment of {segment.length} bytes where {left} are left"
            )
        if segment.packed and not segment.packed < segment.length <= LARGEST_BLOCK:
            raise ProtocolError(
                f"a stream sends {segment.length} bytes compressed into {segment.packed}, and a"
                f" block may have {LARGEST_BLOCK} and must become smaller"
            )
        return segment


def pays(link: float, codec: float, share: float) -> bool:
    """Whether the bytes arrive sooner if they are compressed.

    `link` and `codec` are bytes per second; `share` is what compressing leaves of each byte.
    """
    return share > 0 and min(codec, link / share) >= WORTH * link


@define
class Gauge:
    """How fast a link is, seen by its sender.

    The socket buffers bytes ahead of the link. So only acknowledged bytes count, and only while the
    link always had something to send: an idle link may be faster than measured.
    """

    rate: float | None = None  # bytes per second
    idles: bool = False  # whether the link had nothing to do at some time before the last look
    _idled: bool = False  # the same, since the rate was looked for
    _since: float = 0.0
    _arrived: int = 0

    def begin(self, now: float, arrived: int = 0) -> None:
        """Forgets what was seen before: another transfer begins, or plain bytes show the link."""
        self.idles = self._idled = False
        self._since, self._arrived = now, arrived

    def look(self, now: float, sent: int, waiting: int, *, idled: bool = False) -> None:
        """Of the bytes that this transfer has sent, `waiting` are not acknowledged.

        `idled` says that the kernel had nothing left to send before the last of them came.
        """
        arrived = sent - waiting
        moved, seconds = arrived - self._arrived, now - self._since
        self.idles = idled or waiting <= 0
        self._idled |= self.idles
        if moved < ENOUGH or seconds <= 0 or (seconds < SPAN and not self._idled):
            return
        seen = moved / seconds
        if not self._idled or self.rate is None or seen > self.rate:
            self.rate = seen
        self._since, self._arrived, self._idled = now, arrived, False


class Packing:
    """Decides the segments of one body."""

    def __init__(self, gauge: Gauge) -> None:
        self._gauge = gauge
        self._plain = 0  # bytes that go as they are before the next look
        self._packed = 0  # compressed since the link was tried last
        self._was_slow = False  # whether the last block took longer to compress than it may

    def plain(self) -> int:
        """How many bytes go as they are now; 0 if the next block is to be tried."""
        rate = self._gauge.rate
        if rate is None:
            return PROBE
        if rate >= TOO_FAST:
            return STRETCH
        if self._packed >= STRETCH and self._gauge.idles:  # is it faster than we compress?
            self._packed = 0
            return PROBE
        plain, self._plain = self._plain, 0
        return plain

    def takes(self, segment: Segment, seconds: float) -> bool:
        """Whether a block that was tried is sent compressed."""
        rate = self._gauge.rate
        share = segment.packed / segment.length
        if rate is None or not pays(rate, inf, share):
            self._plain = STRETCH
            return False
        if pays(rate, segment.length / max(seconds, 1e-9), share):
            self._was_slow = False
        elif self._was_slow:
            self._plain = STRETCH
            return False
        else:  # something may have held up this one; it is compressed now in any case
            self._was_slow = True
        self._packed += segment.length
        return True
