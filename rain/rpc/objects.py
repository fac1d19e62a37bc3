"""Objects that one side of a connection lends to the other, and those that it was lent. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import Any

from attrs import define

from rain.base.errors import ProtocolError
from rain.rpc.capnproto.layout import Layout
from rain.rpc.interface import Fields
from rain.rpc.offered import Offered


@define(eq=False)
class Remote:
    """An object that the other side offers."""

    target: Fields


@define(eq=False)
class _Export:
    offered: Offered
    references: int = 0


class Exports:
    """The objects that the other side may call, and how many references to each it has."""

    def __init__(self) -> None:
        self._exports: dict[int, _Export] = {}
        self._numbers_of: dict[Offered, int] = {}
        self._numbers = count()

    def find(self, number: int) -> Offered:
        """The object with this number."""
        export = self._exports.get(number)
        if export is None:
            raise ProtocolError("a call of an object that was not offered")
        return export.offered

    def lend(self, offered: Offered) -> Fields:
        """One more reference to an object, as the entry of a table."""
        number = self._numbers_of.get(offered)
        if number is None:
            number = self._numbers_of[offered] = next(self._numbers)
            self._exports[number] = _Export(offered)
        self._exports[number].references += 1
        return {"senderHosted": number}

    def lend_all(self, values: Fields, names: Iterable[str]) -> tuple[Fields, list[Fields]]:
        """Puts places in a table where objects are among these fields; gives the table, too."""
        values = dict(values)
        table: list[Fields] = []
        for name in names:
            offered = values.get(name)
            if offered is not None:
                values[name] = len(table)
                table.append(self.lend(offered))
        return values, table

    def release(self, number: int, references: int) -> None:
        """The other side gives references back."""
        export = self._exports.get(number)
        if export is None or export.references < references:
            raise ProtocolError("more references are released than there were")
        export.references -= references
        if not export.references:
            del self._exports[number], self._numbers_of[export.offered]

    def release_one(self, offered: Offered) -> None:
        """The same, for one reference to an object."""
        self.release(self._numbers_of.get(offered, -1), 1)

    def clear(self) -> None:
        """The connection has ended."""
        self._exports.clear()
        self._numbers_of.clear()


def opened(payload: Fields, layout: Layout, objects: Iterable[str]) -> Fields:
    """The fields of parameters or results; their objects as `Remote`, or None."""
    fields: Fields = payload["content"].struct(layout)
    for name in objects:
        fields[name] = _remote(fields[name], payload["capTable"])
    return fields


def _remote(place: int | None, table: list[Any]) -> Remote | None:
    """The object that has this place in the table of a payload; None if there is none."""
    if place is None:
        return None
    if not 0 <= place < len(table):
        raise ProtocolError("an object is missing")
    for kind in ("senderHosted", "senderPromise"):
        if kind in table[place]:
            return Remote({"importedCap": table[place][kind]})
    raise ProtocolError("an object that is not the sender's own")
