"""Shows what calls print at once, like all output of the program, and keeps it as their logs.

Only what Python writes to `sys.stdout` and `sys.stderr` is kept. What C libraries and child
processes write is shown.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, TextIO, cast

from rain.common.printed import HEAD, TAIL, KeptText


class Written:
    """What was written to one stream, bounded."""

    def __init__(self) -> None:
        self._head = self._tail = b""
        self._size = 0

    def add(self, text: str) -> None:
        """More was written."""
        data = text.encode(errors="replace")
        self._size += len(data)
        room = HEAD - len(self._head)
        self._head += data[:room]
        self._tail = (self._tail + data[room:])[-TAIL:]

    @property
    def kept(self) -> KeptText:
        """The beginning and the end of it."""
        return KeptText(self._head + self._tail, self._size)


class Tee:
    """A stream that shows what is written, and keeps it. Everything else is the stream's own."""

    def __init__(self, stream: TextIO, written: Written) -> None:
        self.stream = stream
        self._written = written

    def write(self, text: str) -> int:
        self._written.add(text)
        return self.stream.write(text)

    def writelines(self, lines: list[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@contextmanager
def keeping_printed() -> Generator[tuple[Written, Written]]:
    """What is written inside of this to stdout and to stderr.

    A call inside of another one has its own: what it prints is not the other one's.
    """
    written = Written(), Written()
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = _tee(sys.stdout, written[0]), _tee(sys.stderr, written[1])
    try:
        yield written
    finally:
        sys.stdout, sys.stderr = before


def _tee(stream: object, written: Written) -> TextIO:
    shown = stream.stream if isinstance(stream, Tee) else stream
    return cast("TextIO", Tee(cast("TextIO", shown), written))
