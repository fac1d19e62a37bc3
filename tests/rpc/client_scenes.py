"""Scripts of a client beside a server that does what a test says."""

from collections.abc import Callable
from typing import Never

import trio

from rain.base.ids import ObjectId, SessionId, pack
from rain.rpc import host
from rain.rpc.client_endpoint import ClientConnection
from rain.rpc.server_endpoint import listen
from tests.rpc.fakes import FakeServer

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
        listener = listen("127.0.0.1", 0, server, pending_limit=pending_limit)

        def script() -> None:
            client = ClientConnection("127.0.0.1", listener.port)
            try:
                scene(client)
            finally:
                client.close()

        with trio.fail_after(60):
            await trio.to_thread.run_sync(script)
            await server.journal.until("client left")
        listener.close()
        return 0

    host.run(main)
    return servers[0]
