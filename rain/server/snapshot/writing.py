"""Finds all objects that can be reached from one, and writes their tables as columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgpack
from attrs import define, field

import rain
from rain.base.errors import InvariantError
from rain.server.framing import frame
from rain.server.migrations import version
from rain.server.snapshot.columns import pack
from rain.server.snapshot.layouts import Layout, layout_of
from rain.server.snapshot.leaving_out import ALWAYS_THERE
from rain.server.snapshot.shapes import NO_ROW


@define(eq=False)
class Tables:
    """The objects that were found, each in the table of its class; where they stand is their row.

    They are found breadth-first and many at a time: first all tasks, then all that these have.
    """

    found: dict[type, list[Any]] = field(init=False, factory=dict)
    _rows: dict[int, int] = field(init=False, factory=dict)  # by their `id`

    def __attrs_post_init__(self) -> None:
        self._rows[id(None)] = NO_ROW
        for kind, known in ALWAYS_THERE.items():
            self.add(kind, list(known))

    def reach(self, root: object) -> None:
        """Finds an object, and all that is reached from it."""
        self.add(type(root), [root])
        looked_at = {kind: len(known) for kind, known in ALWAYS_THERE.items()}
        while True:
            waiting = {
                kind: there[looked_at.get(kind, 0) :]
                for kind, there in self.found.items()
                if len(there) > looked_at.get(kind, 0)
            }
            if not waiting:
                return
            for kind, new in waiting.items():
                looked_at[kind] = looked_at.get(kind, 0) + len(new)
                for one in layout_of(kind).fields:
                    if one.shape.classes:
                        one.shape.reach(list(map(one.of, new)), self)

    def add(self, kind: type, values: list[Any]) -> None:
        """These are reached; None counts as well."""
        rows, there = self._rows, self.found.setdefault(kind, [])
        names = list(map(id, values))
        if names and names.count(names[0]) == len(names):  # of many tasks the session, or None
            names = names[:1]
        for name, value in dict(zip(names, values, strict=False)).items():
            if name not in rows:
                if type(value) is not kind:
                    raise InvariantError(f"{value!r} is where a snapshot expects a {kind.__name__}")
                rows[name] = len(there)
                there.append(value)

    def tables(self) -> Iterator[tuple[Layout, list[Any]]]:
        """The objects to write, by class, without those that always exist."""
        for kind, there in self.found.items():
            yield layout_of(kind), there[len(ALWAYS_THERE.get(kind, ())) :]

    def numbers(self, values: list[Any]) -> list[int]:
        """The rows of these in the tables of their classes."""
        names = list(map(id, values))
        if names and names.count(names[0]) == len(names):
            return [self._rows[names[0]]] * len(names)
        return list(map(self._rows.__getitem__, names))


@define(eq=False)
class Records(Tables):
    """The columns of these tables as records."""

    _written: list[bytes] = field(init=False, factory=list)
    _count: int = field(init=False, default=0)

    def write(self, name: str, kind: type, values: list[Any]) -> None:
        """Writes a column of plain values."""
        for count, packed in pack(kind, values):
            self._record([name, count, packed])

    def take_all(self) -> Iterator[bytes]:
        """All records: what there is, column by column, and how many there were."""
        tables = {
            layout.kind.__name__: [len(there), [one.name for one in layout.fields]]
            for layout, there in self.tables()
        }
        self._record({"version": version(), "rain": rain.__version__, "tables": tables})
        yield from self._taken()
        for layout, there in self.tables():
            for one in layout.fields:
                one.shape.write(layout.column(one), list(map(one.of, there)), self)
                yield from self._taken()
        self._record(self._count)
        yield from self._taken()

    def _record(self, content: object) -> None:
        self._count += 1
        self._written.append(frame(msgpack.packb(content, unicode_errors="surrogatepass")))

    def _taken(self) -> Iterator[bytes]:
        written, self._written = self._written, []
        yield from written
