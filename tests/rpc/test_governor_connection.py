"""A governor and the server speak over a real socket."""

import re
import socket
from collections.abc import Awaitable, Callable
from math import inf

import pytest
import trio

from rain.base.errors import InvariantError, ProtocolError, StartError
from rain.base.ids import GovernorId, KindId, ObjectId, SessionId, TaskId
from rain.base.kinds import TaskKind
from rain.base.leading import Servers
from rain.base.resources import Resources
from rain.base.wire import GOVERNOR_VERSION
from rain.base.wire.answers import GovernorReport
from rain.base.wire.orders import AssignedTasks, Orders, PlacedObjects
from rain.base.wire.printed import PrintedLines, Watch
from rain.base.wire.update import TaskFailure, Update
from rain.daemon import program
from rain.rpc.capnproto.framing import MESSAGE_LIMIT
from rain.rpc.codec.orders import write_orders
from rain.rpc.codec.split import split_orders
from rain.rpc.governor_endpoint import LEAST_TIME, connect_governor
from rain.rpc.handlers import GovernorHello
from rain.rpc.handshake import admit
from rain.rpc.interface import Fields
from rain.rpc.link import Link
from rain.rpc.offered import IncomingCall, Offered
from rain.rpc.server_endpoint import PeerLimits, listen
from rain.rpc.sockets import prepare
from tests.rpc.fakes import FakeControl, FakeServer, Serving, join, serving
from tests.rpc.raw import BOOTSTRAP, CONTROL, UPSTREAM
from tests.support.bell import Bell

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


def test_a_governor_registers_and_its_unspecified_host_becomes_the_one_it_came_from() -> None:
    async def scene(server: FakeServer, here: Serving) -> None:
        upstream = await join(here.nursery, here.listener, FakeControl())
        assert upstream.address == "127.0.0.1:7000"
        named = await join(here.nursery, here.listener, FakeControl(), "node7:7001")
        assert named.address == "node7:7001"

    server = play(scene)
    hello = server.hellos[0]
    assert (hello.incarnation, hello.version) == (77, GOVERNOR_VERSION)
    assert hello.resources.as_dict() == {"cpus": 4, "gpus": 1}


def test_a_governor_that_must_be_gone_says_how_much_time_it_has() -> None:
    async def scene(server: FakeServer, here: Serving) -> None:
        for seconds in (inf, 600.0, 0.0):
            await join(here.nursery, here.listener, FakeControl(), time_left=seconds)

    assert [hello.time_left for hello in play(scene).hellos] == [inf, 600.0, LEAST_TIME]


def test_orders_and_updates_arrive_in_their_order() -> None:
    async def scene(server: FakeServer, here: Serving) -> None:
        control = FakeControl()
        upstream = await join(here.nursery, here.listener, control)
        for number in range(20):
            server.governors[0].order(Orders(drops=[ObjectId(number)]))
            upstream.update(Update(located=[ObjectId(number)]))
        orders = await control.journal.until("order", 20)
        assert [order.drops for (order,) in orders] == [[number] for number in range(20)]
        await upstream.drained()
        assert [news.located for (news,) in server.journal.named("news")] == [
            [number] for number in range(20)
        ]
        assert server.journal.entries[-1] == ("drained",)

    play(scene)


def test_a_slow_governor_holds_up_nobody() -> None:
    # given: a governor that does not read, and orders that fill every buffer between
    async def scene(server: FakeServer, here: Serving) -> None:
        slow = await join(here.nursery, here.listener, FakeControl())
        quick_control = FakeControl()
        await join(here.nursery, here.listener, quick_control)
        data = [bytes(1_000_000) for _ in range(6)]
        numbers = [ObjectId(number) for number in range(6)]
        for _ in range(10):
            server.governors[0].order(
                Orders(
                    objects=PlacedObjects(
                        numbers, [KindId(1)] * 6, [""] * 6, [1] * 6, [""] * 6, data
                    )
                )
            )
        # when: another one gets its orders
        server.governors[1].order(Orders(drops=[ObjectId(1)]))
        # then
        await quick_control.journal.until("order")
        slow.close()

    play(scene)


def test_orders_that_are_too_long_for_one_message_arrive_as_one() -> None:
    # given: 30 tasks with large configs of a kind with two outputs
    kind = TaskKind(KindId(1), "py/", outputs=(KindId(2), KindId(2)))
    count = 30
    tasks = AssignedTasks(
        ids=[TaskId(number) for number in range(count)],
        runs=[1] * count,
        kinds=[kind.id] * count,
        priorities=[0] * count,
        configs=[bytes([number]) * 1_000_000 for number in range(count)],
        input_counts=[1] * count,
        inputs=[ObjectId(number) for number in range(count)],
        outputs=[ObjectId(number // 2) for number in range(2 * count)],
    )
    orders = Orders(task_kinds=[kind], tasks=tasks, number=5)
    assert len(split_orders(orders)) > 3

    async def scene(server: FakeServer, here: Serving) -> None:
        control = FakeControl()
        await join(here.nursery, here.listener, control)
        server.governors[0].order(orders)
        assert await control.journal.until("order") == [(orders,)]

    play(scene)


def test_orders_that_are_cut_in_the_middle_are_not_applied() -> None:
    control = FakeControl()

    async def serve(listening: socket.socket) -> None:
        await trio.lowlevel.wait_readable(listening)
        accepted, _ = listening.accept()
        prepare(accepted)
        await admit(accepted, None, 10)

        def register(params: Fields, call: IncomingCall) -> None:
            upstream = Offered(UPSTREAM, dict.fromkeys(UPSTREAM.methods, register))
            call.answer({"upstream": upstream, "address": "here:1"})
            for number, more in ((1, False), (2, True)):
                fields = write_orders(Orders(drops=[ObjectId(number)]), more=more)
                link.peer.call(params["control"], CONTROL.methods["order"], fields, ended.append)
            link.end_with_reason("the server stops")

        ended: list[object] = []
        bootstrap = Offered(BOOTSTRAP, dict.fromkeys(BOOTSTRAP.methods, register))
        link = Link(accepted, bootstrap, MESSAGE_LIMIT)
        await link.run()

    run_against(serve, control)
    assert [orders.drops for (orders,) in control.journal.named("order")] == [[1]]


def test_a_governor_reports_when_it_is_asked() -> None:
    async def scene(server: FakeServer, here: Serving) -> None:
        await join(here.nursery, here.listener, FakeControl())
        answers = Answers()
        server.governors[0].report(answers)
        await answers.bell.wait()
        assert answers.seen == [
            GovernorReport("there:1", (TaskId(5),), (), (), (("cpus", 4), ("gpus", 1)))
        ]

    play(scene)


def test_a_governor_is_asked_to_call_back_with_a_ticket() -> None:
    async def scene(server: FakeServer, here: Serving) -> None:
        control = FakeControl()
        await join(here.nursery, here.listener, control)
        server.governors[0].ask_for_call(bytes(range(16)))
        assert await control.journal.until("call back") == [(bytes(range(16)),)]
        # a ticket of another length is the server's fault
        server.governors[0].ask_for_call(b"short")
        await server.journal.until("governor left")

    play(scene)


def test_a_governor_tells_what_a_running_task_has_printed_or_that_it_has_left() -> None:
    async def scene(server: FakeServer, here: Serving) -> None:
        upstream = await join(here.nursery, here.listener, FakeControl())
        answers = Answers()
        server.governors[0].printed(TaskId(5), answers)
        await answers.bell.wait()
        upstream.close()
        await server.journal.until("governor left")
        server.governors[0].printed(TaskId(5), answers)
        assert answers.seen == ["printed by 5", "the governor has left"]

    play(scene)


def test_a_governor_is_told_what_is_watched_and_tells_it_before_its_later_news() -> None:
    watch = Watch(frozenset([SessionId(3)]), frozenset([TaskId(5)]))
    lines = [PrintedLines(TaskId(5), "talk", errors=True, text="hello\n", left_out=7)]

    async def scene(server: FakeServer, here: Serving) -> None:
        control = FakeControl()
        upstream = await join(here.nursery, here.listener, control)
        server.governors[0].watch(8, watch)
        server.governors[0].watch(8, None)
        assert await control.journal.until("watch", 2) == [(8, watch), (8, None)]
        upstream.printed(8, lines)
        upstream.update(Update(located=[ObjectId(1)]))
        await server.journal.until("news")
        assert server.journal.named("printed") == [(8, lines)]

    play(scene)


def test_less_than_nothing_cannot_be_left_out() -> None:
    async def scene(server: FakeServer, here: Serving) -> None:
        control = FakeControl()
        upstream = await join(here.nursery, here.listener, control)
        upstream.printed(8, [PrintedLines(TaskId(5), left_out=-1)])
        ((cause,),) = await server.journal.until("governor left")
        assert "-1 bytes cannot be left out" in cause

    play(scene)


def test_a_governor_that_has_left_reports_by_a_refusal() -> None:
    async def scene(server: FakeServer, here: Serving) -> None:
        upstream = await join(here.nursery, here.listener, FakeControl())
        upstream.close()
        await server.journal.until("governor left")
        answers = Answers()
        server.governors[0].report(answers)
        assert answers.seen == ["the governor has left"]

    play(scene)


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


class Answers:
    """A reply that keeps what it gets."""

    def __init__(self) -> None:
        self.seen: list[object] = []
        self.bell = Bell()

    def answer(self, value: object, /) -> None:
        self.seen.append(value)
        self.bell.ring()

    def refuse(self, reason: object, /) -> None:
        self.answer(reason)


def test_the_session_ids_in_orders_survive() -> None:
    async def scene(server: FakeServer, here: Serving) -> None:
        control = FakeControl()
        await join(here.nursery, here.listener, control)
        orders = Orders(forget_sessions=[SessionId(3)], stop_ids=[TaskId(1)], stop_runs=[2])
        server.governors[0].order(orders)
        assert await control.journal.until("order") == [(orders,)]

    play(scene)


def test_a_governor_whose_server_ends_with_the_registration_hears_of_the_end() -> None:
    control = FakeControl()

    async def serve(listening: socket.socket) -> None:
        await trio.lowlevel.wait_readable(listening)
        accepted, _ = listening.accept()
        prepare(accepted)
        await admit(accepted, None, 10)

        def register(params: Fields, call: IncomingCall) -> None:
            upstream = Offered(UPSTREAM, dict.fromkeys(UPSTREAM.methods, register))
            call.answer({"upstream": upstream, "address": "here:1"})
            link.end_with_reason("the server stops")

        bootstrap = Offered(BOOTSTRAP, dict.fromkeys(BOOTSTRAP.methods, register))
        link = Link(accepted, bootstrap, MESSAGE_LIMIT)
        await link.run()

    run_against(serve, control)
    assert control.journal.entries == [("left", "the server stops")]


def run_against(serve: Callable[[socket.socket], Awaitable[None]], control: FakeControl) -> None:
    """A governor registers with a server by hand, and hears of the end of it."""

    async def main() -> int:
        with socket.create_server(("127.0.0.1", 0)) as listening, trio.fail_after(30):
            listening.setblocking(False)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(serve, listening)
                await connect_governor(
                    nursery,
                    Servers([("127.0.0.1", listening.getsockname()[1])]),
                    control,
                    GovernorHello(GovernorId(77), "there:1", Resources(1)),
                )
                await control.journal.until("left")
        return 0

    program.run(main)
