"""Lists and removes the entries of a cache, for `rain cache`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from attrs import frozen

from rain.base.caching import Parts
from rain.cache.entries import decode
from rain.cache.errors import DamagedEntryError
from rain.cache.limits import entries_of, evict, tidy
from rain.cache.places import CachePlace
from rain.stream.removing import remove

DAMAGED = "(damaged)"
"""Stands for the name of an entry that cannot be read."""


@frozen
class ListedEntry:
    """One entry."""

    name: str
    parts: Parts
    seconds: float  # that the run took
    used: float  # when it was used last
    size: int
    path: Path


@frozen
class Gone:
    """What was removed."""

    count: int
    size: int


def listed(place: CachePlace, name: str = "") -> list[ListedEntry]:
    """All entries of a name, or of all names; the one that was used last first."""
    found: list[ListedEntry] = []
    for usage in entries_of(place):
        path = usage.path / "entry" if usage.path.is_dir() else usage.path
        try:
            entry = decode(path.read_bytes())
        except OSError:  # it goes meanwhile
            continue
        except DamagedEntryError:
            one = ListedEntry(DAMAGED, (), 0.0, usage.used, usage.size, usage.path)
        else:
            one = ListedEntry(
                entry.name, entry.parts, entry.seconds, usage.used, usage.size, usage.path
            )
        if name in ("", one.name):
            found.append(one)
    return sorted(found, key=lambda one: one.used, reverse=True)


def sums(found: Iterable[ListedEntry]) -> list[tuple[str, int, int]]:
    """Name, number of entries and bytes, the largest first."""
    by_name: dict[str, tuple[int, int]] = {}
    for one in found:
        count, size = by_name.get(one.name, (0, 0))
        by_name[one.name] = count + 1, size + one.size
    rows = [(name, count, size) for name, (count, size) in by_name.items()]
    return sorted(rows, key=lambda row: row[2], reverse=True)


def trim(place: CachePlace, most: int, name: str = "") -> Gone:
    """Removes what was not used for longest, until at most `most` bytes are left."""
    found = listed(place, name)
    left = sum(one.size for one in found)
    going: list[ListedEntry] = []
    for one in reversed(found):
        if left <= most:
            break
        left -= one.size
        going.append(one)
    gone = [one for one in going if evict(place, one.path)]
    tidy(place)
    return Gone(len(gone), sum(one.size for one in gone))


def clear(place: CachePlace, name: str = "") -> Gone:
    """Removes all entries of a name, or everything, also what would say why tasks run."""
    gone = trim(place, -1, name)
    if not name:
        for path in (place.path / "journals").iterdir():
            remove(path)
    return gone
