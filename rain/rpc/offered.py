"""Objects that are offered to the other side of a connection, and its calls of them. Pure.

The parameters of a call are read into values first, which does nothing else; then it is served.
What goes wrong is judged here, once for all interfaces:

* Whatever reading the parameters raises, and any `ProtocolError`, is the caller's fault: its
  connection is closed, with the reason as the answer.
* Any other exception is ours: the whole program ends with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from attrs import frozen

from rain.base.errors import InvariantError
from rain.rpc.codec.border import reading
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
        """Returns these results some time, together with others: nobody waits for them."""
        if self._close():
            self.is_acknowledged = True
            self._returner.acknowledge(self, results or {})

    def fail(self, reason: str, kind: str = "failed") -> None:
        """Returns an exception, as Cap'n Proto calls it."""
        if self._close():
            self._returner.return_failure(self, reason, kind)

    def give_up(self) -> None:
        """Nobody waits for the answer any more."""
        if self.is_open:
            self.is_open = False
            tell, self.on_give_up = self.on_give_up, None
            if tell is not None:
                tell()

    def _close(self) -> bool:
        """Whether the caller still waits; a second answer is a mistake of ours."""
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
        with reading(name):
            asked = method.read(params)
        method.serve(asked, call)

    return handle
