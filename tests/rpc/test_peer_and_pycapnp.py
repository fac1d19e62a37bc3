"""A peer of ours and pycapnp's own RPC understand each other, in both directions."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import capnp
import pytest

from rain.rpc.interface import Fields
from rain.rpc.peer import Peer
from rain.rpc.questions import CallError
from tests.rpc.counter import schemas
from tests.rpc.peers import COUNTER, LISTENER, Counter


def with_both(
    make: Callable[[Callable[[bytes], object]], Peer],
    main: Callable[[Peer, capnp.AsyncIoStream], Awaitable[None]],
) -> None:
    """Runs a main with a peer of ours at one end of a socket and a stream at the other."""

    async def run() -> None:
        ours, theirs = socket.socketpair()
        reader, writer = await asyncio.open_connection(sock=ours)
        peer = make(writer.write)

        async def hear() -> None:
            while chunk := await reader.read(1 << 16):
                peer.receive(chunk)

        async with capnp.kj_loop():
            stream = await capnp.AsyncIoStream.create_connection(sock=theirs)
            hearing = asyncio.ensure_future(hear())
            working = asyncio.ensure_future(main(peer, stream))
            try:
                await asyncio.wait([hearing, working], return_when=asyncio.FIRST_COMPLETED)
                if not working.done():  # else it would wait for what is not heard any more
                    hearing.result()
                await working
            finally:
                hearing.cancel()
                working.cancel()
                stream.close()
                writer.close()
                await writer.wait_closed()
                theirs.close()

    asyncio.run(asyncio.wait_for(run(), 30))


def test_the_client_of_pycapnp_calls_us() -> None:
    counter = Counter()

    async def main(_: Peer, stream: capnp.AsyncIoStream) -> None:
        client = capnp.TwoPartyClient(stream)
        root = client.bootstrap().cast_as(schemas.Counter)
        assert (await root.add(number=3)).sum == 3
        together = [root.add(number=1) for _ in range(500)]
        assert [(await one).sum for one in together] == list(range(4, 504))
        opened = await root.open(label="second")
        assert opened.label == "second"
        assert (await opened.counter.add(number=9)).sum == 9
        # Without waiting for the object that is called.
        assert (await root.open(label="third").counter.add(number=2)).sum == 2
        with pytest.raises(capnp.KjException, match="no such thing"):
            await root.fail(reason="no such thing")
        waiting = asyncio.ensure_future(root.wait())
        while not counter.waiting:
            await root.add(number=0)
        waiting.cancel()
        while not counter.given_up:
            await root.add(number=0)
        client.close()

    with_both(lambda say: Peer(say, counter.offered), main)


def test_an_object_of_pycapnp_that_we_were_given_is_called_back() -> None:
    counter = Counter()
    heard: list[str] = []

    class Listener(schemas.Listener.Server):  # type: ignore[misc,name-defined] # made while the program runs
        async def hear(self, text: str, **_: Any) -> str:
            heard.append(text)
            return f"{text}!"

    async def main(peer: Peer, stream: capnp.AsyncIoStream) -> None:
        client = capnp.TwoPartyClient(stream)
        root = client.bootstrap().cast_as(schemas.Counter)
        await root.tell(listener=Listener(), text="x")
        answered: asyncio.Future[Fields | CallError] = asyncio.get_running_loop().create_future()
        hear = LISTENER.methods["hear"]
        peer.call(counter.listeners[0], hear, {"text": "hello"}, answered.set_result)
        assert await answered == {"answer": "hello!"}
        assert heard == ["hello"]
        client.close()

    with_both(lambda say: Peer(say, counter.offered), main)


def test_we_call_the_server_of_pycapnp() -> None:
    class Served(schemas.Counter.Server):  # type: ignore[misc,name-defined] # made while the program runs
        def __init__(self) -> None:
            self.sum = 0

        async def add(self, number: int, **_: Any) -> int:
            self.sum += number
            return self.sum

        async def wait(self, **_: Any) -> str:
            await asyncio.sleep(0)
            return "waited"

        async def open(self, label: str, **_: Any) -> tuple[Any, str]:
            return Served(), label

        async def fail(self, reason: str, **_: Any) -> None:
            raise ValueError(reason)

    async def main(peer: Peer, stream: capnp.AsyncIoStream) -> None:
        server = capnp.TwoPartyServer(stream, Served())
        root = peer.bootstrap()

        async def call(method: str, target: Any = root, **params: Any) -> Fields | CallError:
            answer: asyncio.Future[Fields | CallError] = asyncio.get_running_loop().create_future()
            peer.call(target, COUNTER.methods[method], params, answer.set_result)
            return await answer

        assert await call("add", number=3) == {"sum": 3}
        together = [call("add", number=1) for _ in range(200)]
        assert await asyncio.gather(*together) == [{"sum": number} for number in range(4, 204)]
        assert await call("wait") == {"answer": "waited"}
        opened = await call("open", label="second")
        assert isinstance(opened, dict)
        assert opened["label"] == "second"
        assert await call("add", opened["counter"], number=5) == {"sum": 5}
        failed = await call("fail", reason="no such thing")
        assert isinstance(failed, CallError)
        assert "no such thing" in failed.reason
        assert not peer.questions
        server.close()

    with_both(Peer, main)
