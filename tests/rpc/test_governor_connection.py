"""A governor and the server speak over a real socket."""

import socket
from math import inf

from rain.base.ids import KindId, ObjectId, SessionId, TaskId
from rain.base.kinds import TaskKind
from rain.base.wire import GOVERNOR_VERSION
from rain.base.wire.answers import GovernorReport, RunningTask, TaskMemory
from rain.base.wire.orders import AssignedTasks, Orders, PlacedObjects
from rain.base.wire.printed import PrintedLines, Watch
from rain.base.wire.update import Update
from rain.rpc.capnproto.messages import MESSAGE_LIMIT
from rain.rpc.codec.orders import write_orders
from rain.rpc.codec.split import split_orders
from rain.rpc.governor_endpoint import LEAST_TIME
from rain.rpc.interface import Fields
from rain.rpc.link import Link
from rain.rpc.offered import IncomingCall, Offered
from tests.rpc.fakes import FakeControl, FakeServer, Serving, join
from tests.rpc.governor_scenes import play, run_against
from tests.rpc.raw import BOOTSTRAP, CONTROL, UPSTREAM
from tests.support.bell import Bell


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

    async def serve(accepted: socket.socket) -> None:
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
        server.governors[0].call_back(bytes(range(16)))
        assert await control.journal.until("call back") == [(bytes(range(16)),)]
        # a ticket of another length is the server's fault
        server.governors[0].call_back(b"short")
        await server.journal.until("governor left")

    play(scene)


def test_a_governor_tells_of_a_running_task_or_that_it_has_left() -> None:
    async def scene(server: FakeServer, here: Serving) -> None:
        upstream = await join(here.nursery, here.listener, FakeControl())
        answers = Answers()
        server.governors[0].running(TaskId(5), answers)
        await answers.bell.wait()
        upstream.close()
        await server.journal.until("governor left")
        server.governors[0].running(TaskId(5), answers)
        running = RunningTask("printed by 5", TaskMemory(3, 4, 5))
        assert answers.seen == [running, "the governor has left"]

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
