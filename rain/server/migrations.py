"""Lets this release read journals and snapshots of earlier releases.

A file has the version of its format, and the names of the fields of all classes in it. A new field
only needs a default. Any other change (a field is renamed or removed, or its meaning changes) needs
a `Migration`: plain functions, one for each class, from the old value to the new one. They get
plain values, as in the file: numbers, texts, bytes and lists. All that are newer than a file are
applied to it, in order.

A new migration is appended to `MIGRATIONS` with the next number, which becomes the version of the
format.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from attrs import Factory, frozen

from rain.base.errors import RainError

FIRST = 1

Fields: TypeAlias = dict[str, Any]
"""The fields of one object in a record of a journal, by their names."""

Table: TypeAlias = dict[str, list[Any]]
"""The columns of all objects of one class in a snapshot, by their names: those of the fields, with
endings for what has several (`rain.server.snapshot.shapes`)."""


@frozen
class Migration:
    """A change of the format. What it does not name has not changed."""

    version: int  # the first one that has it
    records: Mapping[str, Callable[[Fields], Fields]] = Factory(dict)
    tables: Mapping[str, Callable[[Table], Table]] = Factory(dict)


MIGRATIONS: tuple[Migration, ...] = ()


class LaterFormatError(RainError):
    """A file has a later version of the format than this release."""


def version(migrations: tuple[Migration, ...] | None = None) -> int:
    """The version of the format that this release writes."""
    migrations = MIGRATIONS if migrations is None else migrations
    return migrations[-1].version if migrations else FIRST


def missing(
    written: int, by: str, migrations: tuple[Migration, ...] | None = None
) -> tuple[Migration, ...]:
    """The migrations that a file of this version needs, written by the release `by` of Rain."""
    migrations = MIGRATIONS if migrations is None else migrations
    if not FIRST <= written <= version(migrations):
        raise LaterFormatError(
            f"it was written by Rain {by} in version {written} of the format, and this Rain reads"
            f" versions up to {version(migrations)}"
        )
    return tuple(one for one in migrations if one.version > written)


def record_changes(
    migrations: Iterable[Migration], kind: str
) -> tuple[Callable[[Fields], Fields], ...]:
    """The functions that make fields of this class from older ones, in order."""
    return tuple(one.records[kind] for one in migrations if kind in one.records)
