"""A link that is cut without a word: each side that waits notices it by the silence."""

import threading

import pytest
import trio

from rain.base.errors import ConnectionLostError
from rain.base.ids import SessionId
from rain.base.silence import ClientLimits
from rain.base.wire.requests import Fetch, OpenSession, WaitFor
from rain.base.wire.update import Update
from rain.daemon import program
from rain.rpc.client_endpoint import ClientConnection
from rain.rpc.server_endpoint import PeerLimits
from tests.rpc.client_scenes import OBJECT, SESSION
from tests.rpc.fakes import FakeControl, FakeServer, join, serving
from tests.support.swallowing import SwallowingProxy

LIMIT = 2.0


def patient_server() -> FakeServer:
    """A server that never answers a wait or a fetch."""
    server = FakeServer()
    server.rules.update({"wait": lambda reply: None, "fetch": lambda reply: None})
    return server


def test_a_client_whose_server_has_fallen_silent_is_told_for_how_long_in_every_wait() -> None:
    said: list[str] = []
    server_heard: list[object] = []

    async def main() -> int:
        server = patient_server()

        def script(port: int) -> None:
            with SwallowingProxy("127.0.0.1", port) as link:
                quiet = ClientConnection("127.0.0.1", port, limits=ClientLimits(LIMIT))
                client = ClientConnection("127.0.0.1", link.port, limits=ClientLimits(LIMIT))
                asked = threading.Semaphore(0)

                def fetch() -> None:
                    asked.release()
                    with pytest.raises(ConnectionLostError) as caught:
                        client.complete(client.ask(Fetch(OBJECT)))
                    said.append(str(caught.value))

                beside = threading.Thread(target=fetch)
                beside.start()
                asked.acquire()
                link.cut()
                with pytest.raises(ConnectionLostError) as caught:
                    client.ask(WaitFor(SESSION, (), (OBJECT,), "all"))
                said.append(str(caught.value))
                beside.join()
                with pytest.raises(ConnectionLostError):
                    client.ask(OpenSession("afterwards"))
                assert all(
                    f"127.0.0.1:{link.port} has been silent for 2 seconds" in one for one in said
                )
                # A client that was silent for as long is still heard over a link that is whole.
                assert quiet.ask(OpenSession("still there")) == SessionId(1)
                quiet.close()
                client.close()
                # The end of the link would tell the server, too.
                left = trio.from_thread.run(server.journal.until, "client left", 2)
                server_heard.extend(left)

        async with serving(server, limits=PeerLimits(client_silence=LIMIT)) as here:
            await trio.to_thread.run_sync(script, here.port)
        return 0

    program.run(main)
    assert len(said) == 2
    assert any(
        "nothing was received from the other side for 2 seconds" in str(cause)
        for cause in server_heard
    )


def test_a_governor_whose_server_has_fallen_silent_is_told_that_it_has_left() -> None:
    async def main() -> int:
        async with serving(FakeServer()) as here:
            with SwallowingProxy("127.0.0.1", here.port) as link:
                control, quiet = FakeControl(), FakeControl()
                cut_off = await join(here.nursery, link, control, silence_limit=LIMIT)
                other = await join(here.nursery, here.listener, quiet, silence_limit=LIMIT)

                async def give_signs_of_life() -> None:
                    while other.is_open:
                        other.update(Update())
                        await trio.sleep(LIMIT / 5)

                here.nursery.start_soon(give_signs_of_life)
                link.cut()
                (told,) = await control.journal.until("left")
                assert told == ("nothing was received from the other side for 2 seconds",)
                assert not cut_off.is_open
                assert other.is_open
                other.close()
        return 0

    program.run(main)
