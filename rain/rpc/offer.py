"""How an interface is offered to the other side of a connection, and who is to blame for what.

Each call that arrives runs as one coroutine of the host. The first step of these, up to the first
`await`, happens in the order in which the calls arrived; so a handler that is called there sees
the caller's order. What goes wrong is judged here, once for all interfaces:

* `ProtocolError` is the caller's fault: its connection is closed, with the reason as the answer.
* Any other exception is ours: the whole program ends with it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from rain.base.errors import InvariantError, ProtocolError
from rain.rpc.codec.border import CallContext, Interface, OfferedServer, check_length
from rain.rpc.connection import Connection
from rain.rpc.host import host

Method: TypeAlias = Callable[[CallContext], Awaitable[None]]


def offer(
    interface: Interface, connection: Connection, methods: Mapping[str, Method]
) -> OfferedServer:
    """A server object for an interface; all of its methods are given, by their names there."""
    missing = interface.schema.method_names_inherited ^ set(methods)
    if missing:
        raise InvariantError(f"methods that are offered or expected, not both: {sorted(missing)}")
    server = interface.Server()
    for name, method in methods.items():
        setattr(server, f"{name}_context", _judged(name, connection, method))
    return server


def _judged(name: str, connection: Connection, method: Method) -> Method:
    fail = host().fail

    async def call(context: CallContext) -> None:
        if not connection.is_open:
            raise ProtocolError(f"the connection is closed: {connection.cause}")
        try:
            check_length(name, context.params)
            await method(context)
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
