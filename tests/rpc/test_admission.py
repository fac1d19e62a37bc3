"""Nobody gets through any port without the secret, and both sides say why in one line."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import trio

from rain.base.admission import Secret
from rain.base.errors import StartError
from rain.base.ids import GovernorId
from rain.base.leading import Servers
from rain.base.resources import Resources
from rain.base.wire.requests import OpenSession
from rain.daemon import program
from rain.rpc.client_endpoint import ClientConnection
from rain.rpc.governor_endpoint import connect_governor
from rain.rpc.handlers import GovernorHello
from rain.rpc.listener import Listener
from rain.tls.keys import Keys
from tests.rpc.fakes import FakeControl, FakeServer, serving

SECRET = Secret.of("correct-horse-battery-staple")
OTHER = Secret.of("incorrect-horse-battery-staple")


def with_server(secret: Secret | None, scene: Callable[[Listener], object]) -> FakeServer:
    """Runs a scene in a thread beside a server with this secret."""
    servers: list[FakeServer] = []

    async def main() -> int:
        server = FakeServer()
        servers.append(server)
        async with serving(server, keys=Keys(secret)) as here:
            await trio.to_thread.run_sync(scene, here.listener)
        return 0

    program.run(main)
    return servers[0]


def test_a_client_with_the_secret_works_as_ever() -> None:
    def scene(listener: Listener) -> None:
        client = ClientConnection("127.0.0.1", listener.port, keys=Keys(SECRET))
        assert client.ask(OpenSession("x")) == 1
        client.close()

    assert with_server(SECRET, scene).journal.named("open_session")


@pytest.mark.parametrize(
    ("server", "client", "why"),
    [
        (SECRET, OTHER, "the secret is not the secret of this cluster"),
        (SECRET, None, "a secret is needed here: set RAIN_SECRET_FILE"),
        (None, SECRET, "this side was started without a secret"),
    ],
)
def test_a_client_with_another_secret_or_none_is_told_why_and_so_is_the_log(
    server: Secret | None, client: Secret | None, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    def scene(listener: Listener) -> None:
        with pytest.raises(StartError, match=why) as told:
            ClientConnection("127.0.0.1", listener.port, keys=Keys(client))
        assert "\n" not in str(told.value)

    assert with_server(server, scene).journal.entries == []
    (line,) = [
        record.getMessage() for record in caplog.records if "not admitted" in record.getMessage()
    ]
    assert why in line
    assert "127.0.0.1" in line


def test_a_governor_with_another_secret_is_told_why() -> None:
    async def main() -> int:
        server = FakeServer()
        async with serving(server, keys=Keys(SECRET)) as here:
            with pytest.raises(StartError, match="not the secret of this cluster"):
                await connect_governor(
                    here.nursery,
                    Servers([("127.0.0.1", here.port)]),
                    FakeControl(),
                    GovernorHello(GovernorId(1), "127.0.0.1:1", Resources()),
                    keys=Keys(OTHER),
                )
        assert server.hellos == []
        return 0

    program.run(main)
