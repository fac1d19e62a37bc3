"""Makes the objects of the tables that `writing` has written."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import repeat
from typing import Any

import msgpack
from attrs import Factory, define

from rain.base.errors import RainError
from rain.server.migrations import FIRST, Migration, Table, missing
from rain.server.snapshot.columns import Packed, as_list, unpack
from rain.server.snapshot.layouts import Layout, Slot, layouts_from
from rain.server.snapshot.leaving_out import ALWAYS_THERE

_HASH = "_attrs_cached_hash"  # of frozen classes that remember it: None until it is computed


class SnapshotError(RainError):
    """A file is not a snapshot, is damaged, or contains something that this version of Rain does
    not know.
    """


@define(eq=False)
class Columns:
    """The columns of a snapshot, and the objects that are made of them."""

    heads: dict[str, tuple[int, list[str]]]  # of each table: how many rows, and its fields
    written_by: str = ""  # the release of Rain, "" of one that did not say so
    _parts: dict[str, list[tuple[int, Packed]]] = Factory(dict)
    _objects: dict[type, list[Any]] = Factory(dict)

    @staticmethod
    def of(records: Iterator[bytes]) -> Columns:
        """Takes all records in; raises `SnapshotError` if they are not whole."""
        said: Any = _unpacked(next(records, b""))
        if "tables" not in said:  # the first snapshots had nothing else here
            said = {"version": FIRST, "rain": "", "tables": said}
        columns = Columns(said["tables"], said["rain"])
        newer = missing(said["version"], columns.written_by)
        for count, record in enumerate(records, 1):
            content: Any = _unpacked(record)
            if isinstance(content, int):
                if content == count and next(records, None) is None:
                    columns.migrate(newer)
                    return columns
                break
            name, length, packed = content
            columns._parts.setdefault(name, []).append((length, packed))
        raise SnapshotError("the snapshot is not whole")

    def migrate(self, migrations: Iterable[Migration]) -> None:
        """Converts the columns of an earlier version to those of this one."""
        for migration in migrations:
            for kind in self.heads.keys() & migration.tables.keys():
                self._change(kind, migration.tables[kind])

    def _change(self, kind: str, change: Callable[[Table], Table]) -> None:
        count, there = self.heads[kind]
        begin = f"{kind}."
        names = [name for name in self._parts if name.startswith(begin)]
        before = {name.removeprefix(begin): self._take(name) for name in names}
        after = change(before)
        without_columns = set(there).difference(map(_field_of, before))
        self.heads[kind] = count, [*{*without_columns, *map(_field_of, after)}]
        for name, values in after.items():
            self._parts[begin + name] = [(len(values), as_list(values))]

    def read(self, name: str, count: int) -> list[Any]:
        """A column of plain values; their number must be this one."""
        values = self._take(name)
        if len(values) != count:
            raise SnapshotError(f"{name} has {len(values)} values instead of {count}")
        return values

    def _take(self, name: str) -> list[Any]:
        values: list[Any] = []
        for length, packed in self._parts.pop(name, ()):
            values += unpack(length, packed)
        return values

    def rows(self, kind: type) -> Callable[[int], Any]:
        """Gives the objects of a class by their rows."""
        return self._objects[kind].__getitem__

    def make(self, root: type) -> Any:
        """Makes all objects; returns the first one of this class."""
        layouts = layouts_from(root)
        unknown = self.heads.keys() - layouts.keys()
        if unknown:
            raise SnapshotError(f"this version of Rain knows no {min(unknown)}")
        new: dict[str, list[Any]] = {}
        for name, layout in layouts.items():
            count, _ = self.heads.get(name, (0, []))
            made: list[Any] = [object.__new__(layout.kind) for _ in range(count)]
            known = ALWAYS_THERE.get(layout.kind, ())
            self._objects[layout.kind] = [*known, *made, None]  # the last one is that of `NO_ROW`
            new[name] = made
        for name, made in new.items():
            if made:
                self._fill(layouts[name], made, self.heads[name][1])
        if self._parts:
            raise SnapshotError(f"this version of Rain knows no {min(self._parts)}")
        first: Any = self._objects[root][0]
        if first is None:
            raise SnapshotError(f"the snapshot has no {root.__name__}")
        return first

    def _fill(self, layout: Layout, made: list[Any], there: list[str]) -> None:
        kind = layout.kind
        unknown = set(there).difference(one.name for one in layout.fields)
        if unknown:
            raise SnapshotError(f"this version of Rain knows no {kind.__name__}.{min(unknown)}")
        if _HASH in kind.__dict__:
            _put_all(kind.__dict__[_HASH].__set__, made, repeat(None))
        for part in layout.parts:
            _put_all(part.put, made, [object.__new__(part.kind) for _ in made])
        for one in layout.fields:
            if one.name in there:
                _put_all(one.put, made, one.shape.read(layout.column(one), len(made), self))
            else:
                _put_default(layout, one, made)
        for slot in layout.left_out:
            if slot.default is not None:
                _put_default(layout, slot, made)


def _field_of(column: str) -> str:
    """The field that a column belongs to: names of columns begin with it."""
    return re.split(r"\W", column, maxsplit=1)[0]


def _unpacked(record: bytes) -> Any:
    return msgpack.unpackb(record, unicode_errors="surrogatepass", strict_map_key=False)


def _put_all(put: Callable[[Any, Any], None], made: list[Any], values: Any) -> None:
    deque(map(put, made, values), maxlen=0)


def _put_default(layout: Layout, one: Slot, made: list[Any]) -> None:
    """Values that a snapshot of an earlier version lacks."""
    if one.default is None:
        raise SnapshotError(f"the snapshot says nothing of {layout.kind.__name__}.{one.name}")
    _put_all(one.put, made, [one.default() for _ in made])
