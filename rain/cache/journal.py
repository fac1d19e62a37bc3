"""Explains why there was no entry, by comparing the key with those of earlier entries of the same
name.

A journal is a file of lines, to which every writer appends. Each line is a key: its digest, the
session that has added it, and the digests of its parts. Incomplete lines are ignored. Only the end
of a long journal is read and kept.
"""

from __future__ import annotations

import json
import os
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path

from attrs import define

from rain.base.caching import CHANGES, Key
from rain.cache.digests import digest_of_texts
from rain.cache.places import CachePlace

NO_ENTRY = "no entry"
EVICTED = "its entry was evicted"

MOST_READ = 1024 * 1024
MOST_KEPT = 4 * MOST_READ
COMPARED = 64
"""Earlier keys that are compared when more than one part is different."""

MOST_NAMED = 3
_SHORT = 16  # characters of a digest

_Line = tuple[str, str, dict[str, str]]


@define
class _Siblings:
    """Keys that differ in one part alone."""

    first_run: str  # the session that has added the first one
    last_run: str
    are_a_sweep: bool = False  # one session has added several: that part tells its calls apart

    def add(self, run: str) -> None:
        """One more."""
        self.are_a_sweep = self.are_a_sweep or run == self.last_run
        self.last_run = run


class CacheJournal:
    """The journal of one name, to the point that this process has read. Any thread may use it."""

    def __init__(self, place: CachePlace, name: str) -> None:
        self._place = place
        self.path = place.path / "journals" / digest_of_texts(name)[:_SHORT]
        self._lock = threading.Lock()
        self._inode = 0
        self._end = 0
        self._begin()

    def _begin(self) -> None:
        self._digests: set[str] = set()
        self._rests: dict[str, _Siblings] = {}  # by what a key is without one of its parts
        self._newest: deque[_Line] = deque(maxlen=COMPARED)

    def why(self, key: Key) -> str:
        """Why there is no entry for the key."""
        with self._lock:
            self._catch_up()
            if key.digest in self._digests:
                return EVICTED
            parts = _short(key)
            for words, rest in _rests(parts):
                siblings = self._rests.get(rest)
                if siblings is None:
                    continue
                if words in CHANGES:
                    return f"{words} changed"
                if siblings.first_run != key.run:
                    return f"{words} is new" if siblings.are_a_sweep else f"{words} changed"
            return self._several(key.run, parts)

    def add(self, key: Key) -> None:
        """An entry was added."""
        line = json.dumps([key.digest, key.run, _short(key)]).encode() + b"\n"
        is_new = not self.path.exists()
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            if is_new:
                self._place.share(descriptor, self._place.file_rights)
            os.write(descriptor, line)
        finally:
            os.close(descriptor)

    def _several(self, run: str, parts: dict[str, str]) -> str:
        """The differences to the most similar of the newest keys of other sessions."""
        fewest: list[str] | None = None
        nearest: _Line | None = None
        for line in reversed(self._newest):
            _, other_run, others = line
            if other_run == run:
                continue
            differing = _differing(parts, others)
            if fewest is None or len(differing) < len(fewest):
                fewest, nearest = differing, line
        if not fewest or len(fewest) > MOST_NAMED or len(fewest) >= len(parts):
            return NO_ENTRY
        if nearest is not None and self._tell_calls_apart(fewest, nearest):
            return NO_ENTRY
        before = ", ".join(fewest[:-1])
        return f"{before} and {fewest[-1]} changed" if before else f"{fewest[0]} changed"

    def _tell_calls_apart(self, differing: list[str], nearest: _Line) -> bool:
        """Whether another call of the same session differed from this one in the same parts: then
        they are what makes it another call, and nothing has changed."""
        _, run, parts = nearest
        return any(
            other_run == run and sorted(_differing(parts, others)) == sorted(differing)
            for _, other_run, others in self._newest
        )

    def _catch_up(self) -> None:
        try:
            with self.path.open("rb") as file:
                status = os.fstat(file.fileno())
                if status.st_ino != self._inode or status.st_size < self._end:
                    self._begin()
                    self._inode, self._end = status.st_ino, max(0, status.st_size - MOST_READ)
                file.seek(self._end)
                data = file.read(status.st_size - self._end)
        except FileNotFoundError:
            return
        whole = data[: data.rfind(b"\n") + 1]
        self._end += len(whole)
        for digest, run, parts in _read(whole.splitlines()):
            self._digests.add(digest)
            for _, rest in _rests(parts):
                siblings = self._rests.get(rest)
                if siblings is None:
                    self._rests[rest] = _Siblings(run, run)
                else:
                    siblings.add(run)
            self._newest.append((digest, run, parts))


def shorten(path: Path, place: CachePlace) -> None:
    """Keeps only the end of a long journal; a line that is added meanwhile is lost."""
    if path.stat().st_size <= MOST_KEPT:
        return
    with path.open("rb") as file:
        file.seek(-MOST_READ, os.SEEK_END)
        file.readline()
        end = file.read()
    new = place.path / "new" / f"{path.name}-{os.getpid()}-{threading.get_ident()}"
    new.write_bytes(end)
    place.share(new, place.file_rights)
    new.replace(path)


def _differing(parts: dict[str, str], others: dict[str, str]) -> list[str]:
    """The parts that only one of two keys has, or that are not the same in both."""
    differing = [words for words in parts if others.get(words) != parts[words]]
    return differing + [words for words in others if words not in parts]


def _short(key: Key) -> dict[str, str]:
    return {words: digest[:_SHORT] for words, digest in key.parts}


def _rests(parts: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Each part, and what the key is without it."""
    for words in parts:
        yield (
            words,
            digest_of_texts(
                *(
                    text
                    for other, digest in parts.items()
                    if other != words
                    for text in (other, digest)
                )
            )[:_SHORT],
        )


def _read(lines: Iterable[bytes]) -> Iterator[_Line]:
    for line in lines:
        try:
            digest, run, parts = json.loads(line)
            yield str(digest), str(run), {str(words): str(part) for words, part in parts.items()}
        except (ValueError, TypeError, AttributeError):
            continue
