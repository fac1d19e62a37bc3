"""How an interface is offered to the other side of a connection, and who is to blame for what.

Each call that arrives runs as one coroutine of the host: its parameters are read into base types,
it is served, and what serving it gives writes the results. The first step of these, up to the first
`await` of what serves, happens in the order in which the calls arrived; so a handler that is called
there sees the caller's order. What goes wrong is judged here, once for all interfaces:

* Whatever reading the parameters raises, and any `ProtocolError`, is the caller's fault: its
  connection is closed, with the reason as the answer.
* Any other exception is ours: the whole program ends with it.

Nobody else ever sees the parameters of a call: Cap'n Proto looks at them only when they are read,
and then whatever a peer has written there may raise.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Generic, TypeAlias, TypeVar

from attrs import frozen

from rain.base.errors import InvariantError, ProtocolError
from rain.rpc.codec.border import (
    Builder,
    CallContext,
    Interface,
    OfferedServer,
    Reader,
    reading,
)
from rain.rpc.connection import Connection
from rain.rpc.host import host

T = TypeVar("T")

Write: TypeAlias = Callable[[Builder], object]
"""Writes the results of a call."""


@frozen
class Method(Generic[T]):
    """One method: what reads its parameters and does nothing else, and what serves it."""

    read: Callable[[Reader], T]
    serve: Callable[[T], Awaitable[Write]]


def nothing(_: Any) -> None:
    """Reads no parameters, or writes no results, where there are none."""


def offer(
    interface: Interface, connection: Connection, methods: Mapping[str, Method[Any]]
) -> OfferedServer:
    """A server object for an interface; all of its methods are given, by their names there."""
    missing = interface.schema.method_names_inherited ^ set(methods)
    if missing:
        raise InvariantError(f"methods that are offered or expected, not both: {sorted(missing)}")
    server = interface.Server()
    for name, method in methods.items():
        setattr(server, f"{name}_context", _judged(name, connection, method))
    return server


def _judged(
    name: str, connection: Connection, method: Method[Any]
) -> Callable[[CallContext], Awaitable[None]]:
    fail = host().fail

    async def call(context: CallContext) -> None:
        if not connection.is_open:
            raise ProtocolError(f"the connection is closed: {connection.cause}")
        try:
            with reading(name):
                asked = method.read(context.params)
            write = await method.serve(asked)
            await connection.room()
            write(context.results)
        except ProtocolError as error:
            connection.end_with_reason(str(error))
            raise
        except asyncio.CancelledError:
            raise
        except Exception as error:
            connection.end("the program failed")
            fail(error)
            raise

    return call
