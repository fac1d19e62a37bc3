"""Data objects that a client fetches, wherever they are."""

import os
from pathlib import Path
from typing import Any

import pytest
import trio

from rain.base.errors import (
    RefusedError,
)
from rain.base.ids import ObjectId, pack
from rain.base.states import ObjectState
from rain.base.wire.answers import Fetched, ObjectReport
from rain.base.wire.requests import Fetch
from rain.daemon import program
from rain.rpc.client_endpoint import ClientConnection
from rain.rpc.handlers import Reply
from tests.rpc.client_scenes import OBJECT, play
from tests.rpc.fakes import FakeServer, FakeStore, serving
from tests.support.streams import listening_streams


def test_a_large_object_of_the_server_arrives_whole() -> None:
    data = os.urandom(1 << 20) * 50 + b"end"

    def scene(client: ClientConnection) -> None:
        fetched = client.complete(client.ask(Fetch(OBJECT)))
        assert fetched.data == data
        assert fetched.report.size == len(data)

    play(scene, lambda server: server.data.update({OBJECT: data}))


def test_a_large_object_goes_into_a_file(tmp_path: Path) -> None:
    data = os.urandom(3_500_000)

    def scene(client: ClientConnection) -> None:
        assert client.complete(client.ask(Fetch(OBJECT)), tmp_path / "file").data is None
        assert (tmp_path / "file").read_bytes() == data

    play(scene, lambda server: server.data.update({OBJECT: data}))


def test_an_object_of_a_governor_is_looked_for_again_when_it_moved() -> None:
    data = os.urandom(3_500_000)

    async def main() -> int:
        server = FakeServer()
        holders: list[str] = []

        def fetch(reply: Reply[Any]) -> None:
            report = ObjectReport(OBJECT, ObjectState.FINISHED, len(data))
            holder = holders.pop(0) if len(holders) > 1 else holders[0]
            reply.answer(Fetched(report, None, holder))

        server.rules["fetch"] = fetch

        def script(port: int) -> None:
            client = ClientConnection("127.0.0.1", port)
            assert client.complete(client.ask(Fetch(OBJECT))).data == data
            client.close()

        async with (
            serving(server) as here,
            listening_streams(FakeStore({})) as gone,
            listening_streams(FakeStore({OBJECT: data})) as there,
        ):
            holders += [gone.address, there.address]
            await trio.to_thread.run_sync(script, here.port)
        return 0

    program.run(main)


def test_an_object_that_nobody_gives_is_refused_by_name() -> None:
    def scene(client: ClientConnection) -> None:
        with pytest.raises(RefusedError, match=r"1/10 cannot be fetched: the holder does not"):
            client.complete(client.ask(Fetch(OBJECT)))

    play(scene, lambda server: setattr(server, "holder", "127.0.0.1:1"))


def test_many_objects_arrive_in_the_order_in_which_they_were_asked_for() -> None:
    data = {ObjectId(pack(1, number)): bytes([number % 256]) * number for number in range(10, 300)}
    data[OBJECT] = bytes(2_500_000)

    def scene(client: ClientConnection) -> None:
        fetched = client.ask_all([Fetch(one) for one in data])
        assert [client.complete(one).data for one in fetched] == list(data.values())
        assert client.ask_all([]) == []

    play(scene, lambda server: server.data.update(data))
