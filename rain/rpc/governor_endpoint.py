"""The governor's side of its connection to the server."""

import asyncio

import capnp

from rain.base.address import spell_address
from rain.base.admission import Role, Secret
from rain.base.errors import ProtocolError, StartError
from rain.base.ids import GovernorId
from rain.base.resources import Resources
from rain.base.silence import SILENCE_LIMIT
from rain.base.wire import GOVERNOR_VERSION, INLINE_LIMIT, Update
from rain.rpc import schema
from rain.rpc.codec.amounts import write_amounts
from rain.rpc.codec.answers import write_governor_report
from rain.rpc.codec.border import Capability, OfferedServer, Reader, reading
from rain.rpc.codec.orders import decode_orders
from rain.rpc.codec.split import INLINE_BYTES, slim_update
from rain.rpc.codec.update import encode_update
from rain.rpc.connection import Connection, NotLetInError, dial, reason_of
from rain.rpc.handlers import ControlHandler
from rain.rpc.host import in_host
from rain.rpc.offer import Method, Write, nothing, offer
from rain.stream.errors import UnreachableError

CONNECT_TIMEOUT = 10.0

ALWAYS_INLINE = INLINE_BYTES // INLINE_LIMIT
"""So many results, each as long as one that travels inline may be, fit into one update."""


class Upstream:
    """How a governor speaks to the server. Nothing here blocks but `sent`."""

    def __init__(self, connection: Connection, upstream: Capability, address: str) -> None:
        self.address = address  # how the server and its users name this governor
        self._connection = connection
        self._upstream = upstream

    @property
    def is_open(self) -> bool:
        return self._connection.is_open

    def update(self, update: Update) -> None:
        """Sends news after all earlier news; a closed connection takes nothing."""
        if len(update.finished.data) > ALWAYS_INLINE:
            update = slim_update(update)
        self._connection.say(encode_update(update))

    async def drained(self) -> None:
        """From trio: says, after all news, that this governor leaves on purpose.

        Returns when the server has got all that was said, or has gone.
        """
        if self._connection.is_open:
            await in_host(self._drained)

    async def _drained(self) -> None:
        try:
            await self._upstream.drained()
        except capnp.KjException as error:
            self._connection.end(reason_of(error))

    def close(self, reason: str = "the governor closed the connection") -> None:
        self._connection.end(reason)


class Control:
    """What the server may ask of this governor by a call; orders come without one."""

    def __init__(self, connection: Connection, handler: ControlHandler) -> None:
        self._connection = connection
        self._handler = handler

    def offered(self) -> OfferedServer:
        return offer(
            schema.governor.GovernorControl,
            self._connection,
            {
                "report": Method(nothing, self._report),
                "stop": Method(_read_reason, self._stop),
            },
        )

    async def _report(self, _: None) -> Write:
        report = self._handler.report()
        return lambda results: write_governor_report(results.init("report"), report)

    async def _stop(self, reason: str) -> Write:  # async, as all methods
        self._handler.stop(reason)
        return nothing


def _read_reason(params: Reader) -> str:
    reason: str = params.reason
    return reason


async def connect_governor(
    host: str,
    port: int,
    handler: ControlHandler,
    *,
    incarnation: GovernorId,
    data_address: str,
    resources: Resources,
    secret: Secret | None = None,
    version: int = GOVERNOR_VERSION,
    timeout: float = CONNECT_TIMEOUT,
    silence_limit: float | None = SILENCE_LIMIT,
) -> Upstream:
    """From trio: registers with the server; `StartError` says why it cannot.

    A server that is silent for longer than the limit is lost. The first orders may reach the
    handler before this returns.
    """

    async def connect() -> Upstream:
        connection = await dial(host, port, timeout, Role.GOVERNOR, secret)
        try:
            async with asyncio.timeout(timeout):
                return await _register(connection)
        except BaseException:
            connection.end("the governor was not registered")
            raise

    async def _register(connection: Connection) -> Upstream:
        connection.check_reasons()
        bootstrap = connection.call(schema.server.ServerBootstrap)
        request = bootstrap.registerGovernor_request()
        request.version = version
        request.incarnation = incarnation
        request.dataAddress = data_address
        write_amounts(request, "resources", tuple(resources.items()))
        control = Control(connection, handler)
        request.control = control.offered()
        connection.hear(decode_orders, handler.order)
        answer = await request.send()
        with reading("the answer to the registration"):
            upstream = Upstream(connection, answer.upstream, answer.address)
        connection.tell_end(handler.left)
        connection.beat(silence_limit)
        return upstream

    where = spell_address(host, port)
    try:
        return await in_host(connect)
    except NotLetInError as error:
        raise StartError(
            f"the server at {where} and this governor do not trust each other: {error}"
        ) from None
    except UnreachableError as error:
        raise StartError(f"cannot reach the server at {error}") from None
    except ProtocolError as error:
        raise StartError(f"what listens at {where} is not a Rain server: {error}") from None
    except TimeoutError:
        raise StartError(f"the server at {where} does not answer within {timeout:g} s") from None
    except capnp.KjException as error:
        raise StartError(
            f"the server at {where} refuses this governor: {reason_of(error)}"
        ) from None
