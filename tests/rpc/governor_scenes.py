"""Runs a governor's side beside a server, or the server's side beside a governor."""

import socket
from collections.abc import Awaitable, Callable

import trio

from rain.base.ids import GovernorId
from rain.base.leading import Servers
from rain.base.resources import Resources
from rain.daemon import program
from rain.rpc.governor_endpoint import connect_governor
from rain.rpc.handlers import GovernorHello
from rain.rpc.handshake import admit
from rain.rpc.server_endpoint import PeerLimits
from rain.rpc.sockets import prepare
from tests.rpc.fakes import FakeControl, FakeServer, Serving, serving

Scene = Callable[[FakeServer, Serving], Awaitable[None]]


def play(scene: Scene, handshake_limit: float = 10) -> FakeServer:
    """Runs a scene beside a server that listens on a picked port."""
    servers: list[FakeServer] = []

    async def main() -> int:
        server = FakeServer()
        servers.append(server)
        async with serving(server, 30, limits=PeerLimits(handshake_limit)) as here:
            await scene(server, here)
        return 0

    program.run(main)
    return servers[0]


def run_against(serve: Callable[[socket.socket], Awaitable[None]], control: FakeControl) -> None:
    """A governor registers with a server by hand, and hears of the end of it.

    `serve` gets the connection when the governor was let in.
    """

    async def let_in(listening: socket.socket) -> None:
        await trio.lowlevel.wait_readable(listening)
        accepted, _ = listening.accept()
        prepare(accepted)
        await admit(accepted, None)
        await serve(accepted)

    async def main() -> int:
        with socket.create_server(("127.0.0.1", 0)) as listening, trio.fail_after(30):
            listening.setblocking(False)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(let_in, listening)
                await connect_governor(
                    nursery,
                    Servers([("127.0.0.1", listening.getsockname()[1])]),
                    control,
                    GovernorHello(GovernorId(77), "there:1", Resources(1)),
                )
                await control.journal.until("left")
        return 0

    program.run(main)
