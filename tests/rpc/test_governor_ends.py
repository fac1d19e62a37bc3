"""How a connection of a governor begins and ends, and whose mistakes end it."""

import re
import socket

import pytest
import trio

from rain.base.errors import InvariantError, ProtocolError, StartError
from rain.base.ids import ObjectId, TaskId
from rain.base.wire import GOVERNOR_VERSION
from rain.base.wire.orders import Orders
from rain.base.wire.update import TaskFailure, Update
from rain.rpc.capnproto.messages import MESSAGE_LIMIT
from rain.rpc.interface import Fields
from rain.rpc.link import Link
from rain.rpc.offered import IncomingCall, Offered
from rain.rpc.server_endpoint import listen
from tests.rpc.fakes import FakeControl, FakeServer, Serving, join
from tests.rpc.governor_scenes import play, run_against
from tests.rpc.raw import BOOTSTRAP, UPSTREAM


def test_a_stopped_governor_hears_the_reason_and_then_the_link_closes() -> None:
    async def scene(server: FakeServer, here: Serving) -> None:
        control = FakeControl()
        await join(here.nursery, here.listener, control)
        server.governors[0].order(Orders(drops=[ObjectId(1)]))
        server.governors[0].stop("two of you have one name")
        await control.journal.until("left")
        assert [entry[0] for entry in control.journal.entries] == ["order", "stop", "left"]
        assert control.journal.named("stop") == [("two of you have one name",)]
        assert await server.journal.until("governor left") == [("two of you have one name",)]

    play(scene)


def test_both_sides_learn_once_that_the_other_one_has_gone() -> None:
    async def scene(server: FakeServer, here: Serving) -> None:
        controls = [FakeControl(), FakeControl()]
        first, _ = [await join(here.nursery, here.listener, control) for control in controls]
        first.close()
        await server.journal.until("governor left")
        server.governors[1].close("enough")
        await controls[1].journal.until("left")
        await server.journal.until("governor left", 2)
        assert server.journal.named("governor left") == [
            ("the other side closed the connection",),
            ("enough",),
        ]
        assert controls[0].journal.named("left") == [("the governor closed the connection",)]
        assert len(controls[1].journal.named("left")) == 1

    play(scene)


def test_a_governor_of_another_version_is_told_both_versions() -> None:
    async def scene(server: FakeServer, here: Serving) -> None:
        with pytest.raises(
            StartError, match=rf"speaks version 99 .* this server version {GOVERNOR_VERSION}"
        ) as caught:
            await join(here.nursery, here.listener, FakeControl(), version=99)
        assert "\n" not in str(caught.value)
        assert f"127.0.0.1:{here.port}" in str(caught.value)

    assert play(scene).journal.entries == []


def test_a_governor_without_a_data_port_is_refused() -> None:
    async def scene(server: FakeServer, here: Serving) -> None:
        with pytest.raises(StartError, match="'nonsense' is not an address"):
            await join(here.nursery, here.listener, FakeControl(), "nonsense")

    play(scene)


def test_a_server_that_is_not_there_is_named() -> None:
    async def scene(server: FakeServer, here: Serving) -> None:
        here.listener.close()
        where = f"127.0.0.1:{here.port}"
        expected = f"cannot reach the server at {where}: Connection refused; is the server running?"
        with pytest.raises(StartError, match=re.escape(expected)):
            await join(here.nursery, here.listener, FakeControl())

    play(scene)


def test_a_governor_that_breaks_the_protocol_is_closed_alone() -> None:
    def judge(update: Update) -> None:
        if update.failed:
            raise ProtocolError("task 1/5 was never assigned")

    async def scene(server: FakeServer, here: Serving) -> None:
        server.rules["news"] = judge
        controls = [FakeControl(), FakeControl()]
        bad, good = [await join(here.nursery, here.listener, control) for control in controls]
        bad.update(Update(failed=[TaskFailure(TaskId(5), 1, "no")]))
        assert await server.journal.until("governor left") == [("task 1/5 was never assigned",)]
        assert await controls[0].journal.until("left") == [("task 1/5 was never assigned",)]
        good.update(Update())
        await server.journal.until("news")

    play(scene)


def test_a_server_that_breaks_the_protocol_is_left() -> None:
    def judge(orders: Orders) -> None:
        raise ProtocolError("unknown kind 1/10")

    async def scene(server: FakeServer, here: Serving) -> None:
        control = FakeControl(rules={"order": judge})
        await join(here.nursery, here.listener, control)
        server.governors[0].order(Orders())
        assert await control.journal.until("left") == [("unknown kind 1/10",)]
        assert await server.journal.until("governor left") == [("unknown kind 1/10",)]

    play(scene)


def test_our_own_mistake_in_a_handler_ends_the_program() -> None:
    def broken(update: Update) -> None:
        raise InvariantError("two owners")

    async def scene(server: FakeServer, here: Serving) -> None:
        server.rules["news"] = broken
        (await join(here.nursery, here.listener, FakeControl())).update(Update())
        await trio.sleep_forever()

    with pytest.raises(InvariantError, match="two owners"):
        play(scene)


@pytest.mark.parametrize(
    "said",
    [
        b"GET / HTTP/1.0\r\n\r\n" * 10,
        b"\0\0\0\0\4\0\0\0" + b"\xff" * 32,
        b"\0\0\0\0\4\0\0\0",
        b"",
        b"\xff" * 1000,
    ],
)
def test_garbage_harms_nobody_else(said: bytes) -> None:
    async def scene(server: FakeServer, here: Serving) -> None:
        upstream = await join(here.nursery, here.listener, FakeControl())
        for _ in range(3):
            with socket.create_connection(("127.0.0.1", here.port)) as stranger:
                stranger.sendall(said)
        upstream.update(Update(located=[ObjectId(1)]))
        await server.journal.until("news")

    assert play(scene).journal.named("governor left") in ([], [("the test is over",)])


def test_a_connection_that_never_registers_is_closed() -> None:
    async def scene(server: FakeServer, here: Serving) -> None:
        upstream = await join(here.nursery, here.listener, FakeControl())
        stream = await trio.open_tcp_stream("127.0.0.1", here.port)
        async with stream:
            assert await stream.receive_some() == b""
        upstream.update(Update())
        await server.journal.until("news")

    play(scene, handshake_limit=1.0)  # which the governor that joins must never need


def test_a_port_in_use_is_named() -> None:
    async def scene(server: FakeServer, here: Serving) -> None:
        expected = f"cannot listen on 127.0.0.1:{here.port}: Address already in use; choose"
        with pytest.raises(StartError, match=re.escape(expected)):
            listen(here.nursery, ("127.0.0.1", here.port), server)

    play(scene)


def test_draining_lets_the_last_answers_arrive() -> None:
    async def scene(server: FakeServer, here: Serving) -> None:
        control = FakeControl()
        upstream = await join(here.nursery, here.listener, control)
        upstream.update(Update())
        await server.journal.until("news")
        await here.listener.drain("the server stops")
        assert await server.journal.until("governor left") == [("the server stops",)]
        await control.journal.until("left")
        await upstream.drained()

    play(scene)


def test_a_governor_whose_server_ends_with_the_registration_hears_of_the_end() -> None:
    control = FakeControl()

    async def serve(accepted: socket.socket) -> None:
        def register(params: Fields, call: IncomingCall) -> None:
            upstream = Offered(UPSTREAM, dict.fromkeys(UPSTREAM.methods, register))
            call.answer({"upstream": upstream, "address": "here:1"})
            link.end_with_reason("the server stops")

        bootstrap = Offered(BOOTSTRAP, dict.fromkeys(BOOTSTRAP.methods, register))
        link = Link(accepted, bootstrap, MESSAGE_LIMIT)
        await link.run()

    run_against(serve, control)
    assert control.journal.entries == [("left", "the server stops")]
