"""A sender finds how fast its link is, also one that waits for it. The link and time are models."""

from __future__ import annotations

import socket
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from attrs import define

from rain.stream import blocks, sockets
from rain.stream.blocks import SendingBlocks
from rain.stream.bodies import OfFile
from rain.stream.host_links import HostLink
from rain.stream.packing import BLOCK

SIZE = 128 * BLOCK
BUFFER = 4 * 1024 * 1024


@define
class Line:
    """A link, the kernel's buffer before it, and a processor that compresses."""

    rate: float
    round_trip: float
    codec: float  # bytes per second
    share: float  # what compressing leaves
    now: float = 100.0
    sent: int = 0
    _free_at: float = 0.0  # when the link has taken all that the kernel has

    def clock(self) -> float:
        return self.now

    def send(self, _: Any, data: bytes) -> None:
        self._take(len(data))

    def send_file(self, *words: Any) -> None:
        self._take(words[3])

    def _take(self, count: int) -> None:
        self._free_at = max(self._free_at, self.now) + count / self.rate
        self.sent += count
        self.now = max(self.now, self._free_at - BUFFER / self.rate)

    def unsent(self, _: Any = None) -> int:
        return round(max(0.0, self._free_at - self.now) * self.rate)

    def waiting(self, _: Any = None) -> int:
        unseen = max(0.0, self._free_at + self.round_trip - self.now) * self.rate
        return min(round(unseen), self.sent)

    def compress(self, block: memoryview) -> bytes:
        self.now += len(block) / self.codec
        return bytes(int(len(block) * self.share))

    def compressor(self) -> Line:
        return self


@pytest.fixture
def file(tmp_path: Path) -> Generator[int]:
    path = tmp_path / "file"
    with path.open("wb+") as made:
        made.truncate(SIZE)
        yield made.fileno()


def transfer(line: Line, link: HostLink, file: int, patch: pytest.MonkeyPatch) -> int:
    """Sends the file, and returns how many of its bytes were compressed."""
    patch.setattr(sockets, "send", line.send)
    patch.setattr(sockets, "send_file", line.send_file)
    patch.setattr(blocks, "_waiting", line.waiting)
    patch.setattr(blocks, "_unsent", line.unsent)
    patch.setattr(blocks, "_compressor", line.compressor)
    with socket.socket() as unused:
        sending = SendingBlocks(unused, link, line.clock)
        sending.send(OfFile(file, 0, SIZE))
    return sending.packed


def known_link(round_trip: float, file: int, patch: pytest.MonkeyPatch) -> tuple[HostLink, Line]:
    """A link for which it pays to compress, after three transfers."""
    link = HostLink()
    line = Line(rate=120e6, round_trip=round_trip, codec=1e9, share=0.02)
    for _ in range(3):
        transfer(line, link, file, patch)
    return link, line


@pytest.mark.parametrize("round_trip", [0.00005, 0.001, 0.02])
def test_a_link_that_waits_for_the_codec_is_not_taken_for_a_slow_one(
    round_trip: float, file: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    link, _ = known_link(round_trip, file, monkeypatch)
    assert link.packed > SIZE  # it was worth it
    assert link.rate is not None
    assert link.rate > 80e6


@pytest.mark.parametrize("round_trip", [0.00005, 0.001, 0.02])
def test_a_codec_that_has_become_slower_than_the_link_is_left(
    round_trip: float, file: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    link, line = known_link(round_trip, file, monkeypatch)
    line.codec = 90e6  # others need the processors now
    for _ in range(2):
        transfer(line, link, file, monkeypatch)
    assert transfer(line, link, file, monkeypatch) <= BLOCK  # the one that was tried


def test_a_link_that_has_become_faster_is_found(file: int, monkeypatch: pytest.MonkeyPatch) -> None:
    link = HostLink()
    line = Line(rate=10e6, round_trip=0.001, codec=150e6, share=0.1)
    transfer(line, link, file, monkeypatch)
    assert link.packed
    line.rate = 1e9
    for _ in range(3):
        transfer(line, link, file, monkeypatch)
    assert transfer(line, link, file, monkeypatch) <= BLOCK  # the one that was tried
