"""Scripts of a client beside a server that does what a test says."""

from collections.abc import Callable
from typing import Never

import trio

from rain.base.ids import ObjectId, SessionId, pack
from rain.daemon import program
from rain.rpc.client_endpoint import ClientConnection
from rain.rpc.server_endpoint import PeerLimits
from tests.rpc.fakes import FakeServer, serving

SESSION = SessionId(1)
OBJECT = ObjectId(pack(1, 10))


def interrupted(*_: object) -> Never:
    """In the place of what Ctrl-C interrupts."""
    raise KeyboardInterrupt


def play(
    scene: Callable[[ClientConnection], object],
    prepare: Callable[[FakeServer], object] = lambda server: None,
    pending_limit: int = 1 << 30,
) -> FakeServer:
    """Runs a client's script in a thread beside a server; gives the server afterwards."""
    servers: list[FakeServer] = []

    async def main() -> int:
        server = FakeServer()
        servers.append(server)
        prepare(server)

        def script(port: int) -> None:
            client = ClientConnection("127.0.0.1", port)
            try:
                scene(client)
            finally:
                client.close()

        async with serving(server, limits=PeerLimits(pending=pending_limit)) as here:
            await trio.to_thread.run_sync(script, here.port)
            await server.journal.until("client left")
        return 0

    program.run(main)
    return servers[0]
