"""Objects that one side of a connection offers to the other, and incoming calls of their methods.
Pure.

`Exports` counts the references that the other side has; `RemoteCapability` is an object that it
offers.

The parameters of a call are first read into values, without side effects; then the call is served.
Errors are handled here, for all interfaces:

* Whatever reading the parameters raises, and any `ProtocolError`, is the caller's fault: its
  connection is closed, with the reason as the answer.
* Any other exception is ours: the whole program ends with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import count
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from attrs import define, frozen

from rain.base.errors import InvariantError, ProtocolError
from rain.rpc.capnproto.layout import Layout
from rain.rpc.codec.border import fault_of_sender
from rain.rpc.interface import Fields, Interface, Method


class Returner(Protocol):
    """Sends what a call returns (`rain.rpc.peer.Peer`)."""

    def return_results(self, call: IncomingCall, results: Fields) -> None: ...

    def acknowledge(self, call: IncomingCall, results: Fields) -> None: ...

    def return_failure(self, call: IncomingCall, reason: str, kind: str) -> None: ...


class IncomingCall:
    """A call that waits for its answer, which is given once, now or later.

    When the caller gives up, or its connection ends, `on_give_up` is called, and an answer that
    comes later goes nowhere.
    """

    __slots__ = (
        "_returner",
        "given",
        "held_back",
        "id",
        "is_acknowledged",
        "is_open",
        "method",
        "on_give_up",
    )

    def __init__(self, returner: Returner, call_id: int) -> None:
        self._returner = returner
        self.id = call_id
        self.method: Method | None = None
        self.is_open = True  # neither answered nor given up
        self.is_acknowledged = False  # its results wait for others
        self.on_give_up: Callable[[], object] | None = None
        self.given: Mapping[int, Offered] | None = None
        """The objects in the results by the places of their pointers, once it is answered."""
        self.held_back: list[Callable[[], object]] = []
        """Calls of objects that this call will give: they were made before it was answered."""

    def answer(self, results: Fields | None = None) -> None:
        """Returns these results."""
        if self._close():
            self._returner.return_results(self, results or {})

    def acknowledge(self, results: Fields | None = None) -> None:
        """Returns these results later, together with others: the caller does not wait for them."""
        if self._close():
            self.is_acknowledged = True
            self._returner.acknowledge(self, results or {})

    def fail(self, reason: str, kind: str = "failed") -> None:
        """Returns an exception, as Cap'n Proto calls it."""
        if self._close():
            self._returner.return_failure(self, reason, kind)

    def give_up(self) -> None:
        """The answer is not waited for any more."""
        if self.is_open:
            self.is_open = False
            tell, self.on_give_up = self.on_give_up, None
            if tell is not None:
                tell()

    def _close(self) -> bool:
        """Whether the caller still waits; a second answer is a bug of ours."""
        if self.given is not None:
            raise InvariantError("a call was answered twice")
        self.given = {}
        was_open, self.is_open = self.is_open, False
        self.on_give_up = None
        return was_open


Handler: TypeAlias = Callable[[Fields, IncomingCall], object]
"""Serves one method: gets the parameters, and answers the call now or later."""


class Offered:
    """An object whose methods the other side of a connection may call."""

    def __init__(self, interface: Interface, handlers: Mapping[str, Handler]) -> None:
        wrong = interface.methods.keys() ^ handlers.keys()
        if wrong:
            raise InvariantError(f"methods that are offered or expected, not both: {sorted(wrong)}")
        self.interface = interface
        self._served = {
            method.number: (method, handlers[name]) for name, method in interface.methods.items()
        }

    def find(self, interface: int, number: int) -> tuple[Method, Handler] | None:
        """The method with this number, and what serves it."""
        return self._served.get(number) if interface == self.interface.id else None


T = TypeVar("T")


@frozen
class Served(Generic[T]):
    """One method: what reads its parameters and does nothing else, and what serves it."""

    read: Callable[[Fields], T]
    serve: Callable[[T, IncomingCall], object]


def nothing(_: Fields) -> None:
    """Reads no parameters, where there are none."""


def offer(interface: Any, methods: Mapping[str, Served[Any]]) -> Offered:
    """An object for an interface of a schema; all of its methods are given, by their names."""
    return Offered(
        Interface.of(interface), {name: _judged(name, method) for name, method in methods.items()}
    )


def _judged(name: str, method: Served[Any]) -> Handler:
    def handle(params: Fields, call: IncomingCall) -> None:
        try:
            asked = method.read(params)
        except ValueError as error:
            raise fault_of_sender(name, error) from error
        method.serve(asked, call)

    return handle


@define(eq=False)
class RemoteCapability:
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
        """The other side gives one reference to an object back."""
        self.release(self._numbers_of.get(offered, -1), 1)

    def clear(self) -> None:
        """The connection has ended."""
        self._exports.clear()
        self._numbers_of.clear()


def opened(payload: Fields, layout: Layout, objects: Iterable[str]) -> Fields:
    """The fields of parameters or results; their objects as `RemoteCapability`, or None."""
    fields: Fields = payload["content"].struct(layout)
    for name in objects:
        fields[name] = _remote(fields[name], payload["capTable"])
    return fields


def _remote(place: int | None, table: list[Any]) -> RemoteCapability | None:
    """The object that has this place in the table of a payload; None if there is none."""
    if place is None:
        return None
    if not 0 <= place < len(table):
        raise ProtocolError("an object is missing")
    for kind in ("senderHosted", "senderPromise"):
        if kind in table[place]:
            return RemoteCapability({"importedCap": table[place][kind]})
    raise ProtocolError("an object that is not the sender's own")
