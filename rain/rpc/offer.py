"""How an interface is offered to the other side of a connection, and who is to blame for what.

The parameters of a call are read into values first, which does nothing else; then it is served.
What goes wrong is judged here, once for all interfaces:

* Whatever reading the parameters raises, and any `ProtocolError`, is the caller's fault: its
  connection is closed, with the reason as the answer.
* Any other exception is ours: the whole program ends with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from attrs import frozen

from rain.rpc.codec.border import reading
from rain.rpc.interface import Fields, Interface
from rain.rpc.offered import Handler, IncomingCall, Offered

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
