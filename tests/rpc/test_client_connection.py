"""A client's blocking calls reach a server over a real socket."""

import gc
import os
import re
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

from rain.base.address import split_address
from rain.base.errors import (
    ConnectionLostError,
    InvariantError,
    ProtocolError,
    RefusedError,
    SessionFailedError,
    StartError,
)
from rain.base.failures import OnFailure
from rain.base.ids import KindId, ObjectId, SessionId, TaskId, pack
from rain.base.kinds import ObjectKind, TaskKind
from rain.base.states import ObjectState, TaskState
from rain.base.wire import (
    ConstantColumns,
    Delivery,
    Fetched,
    GovernorReport,
    ObjectReport,
    SessionFailure,
    Submission,
    TaskColumns,
    WaitAnswer,
)
from rain.rpc import host
from rain.rpc.client_endpoint import ClientConnection
from rain.rpc.handlers import Reply
from rain.rpc.server_endpoint import listen
from tests.rpc.fakes import FakeServer, FakeStore
from tests.support.streams import listen_streams

SESSION = SessionId(1)
OBJECT = ObjectId(pack(1, 10))


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


def test_every_call_gets_its_answer() -> None:
    def scene(client: ClientConnection) -> None:
        assert client.open_session("name", '{"a": 1}', OnFailure.CONTINUE) == 1
        client.submit(Submission(SESSION))
        client.unkeep([OBJECT])
        answer = client.wait(SESSION, [TaskId(OBJECT)], [OBJECT], "all")
        assert answer.tasks == [TaskId(OBJECT)]
        assert answer.objects == [OBJECT]
        tasks, objects = client.update([TaskId(OBJECT)], [OBJECT])
        assert [report.state for report in tasks] == [TaskState.RUNNING]
        assert [report.state for report in objects] == [ObjectState.UNFINISHED]
        assert client.server_info() == [GovernorReport("here:1", (), (), (), (("cpus", 2),))]
        client.close_session(SESSION)

    server = play(scene)
    assert server.journal.entries == [
        ("client joined",),
        ("open_session", "name", '{"a": 1}', OnFailure.CONTINUE),
        ("submit", Submission(SESSION)),
        ("unkeep", [OBJECT]),
        ("wait", SESSION, [OBJECT], [OBJECT], "all"),
        ("update", [OBJECT], [OBJECT]),
        ("server_info",),
        ("close_session", SESSION),
        ("client left", "the other side closed the connection"),
    ]


CALLS: dict[str, Callable[[ClientConnection], object]] = {
    "open_session": lambda client: client.open_session("name"),
    "close_session": lambda client: client.close_session(SESSION),
    "submit": lambda client: client.submit(Submission(SESSION)),
    "unkeep": lambda client: client.unkeep([OBJECT]),
    "wait": lambda client: client.wait(SESSION, [], [], "session"),
    "fetch": lambda client: client.fetch(OBJECT),
    "update": lambda client: client.update([], []),
    "server_info": lambda client: client.server_info(),
}


@pytest.mark.parametrize("name", CALLS)
def test_every_call_can_be_refused_and_told_that_its_session_failed(name: str) -> None:
    reasons: list[str | SessionFailure] = ["because"]
    failure = SessionFailure("it broke", "lines", TaskId(OBJECT))

    def scene(client: ClientConnection) -> None:
        with pytest.raises(RefusedError, match=r"^because$"):
            CALLS[name](client)
        reasons[0] = failure
        with pytest.raises(SessionFailedError, match="it broke") as caught:
            CALLS[name](client)
        assert caught.value.failure == failure

    def refuse(reply: Reply[Any]) -> None:
        reply.refuse(reasons[0])

    play(scene, lambda server: server.rules.update({name: refuse}))


def large_submission() -> Submission:
    """More tasks than one message holds, constants of many lengths, some uploaded ahead."""
    count = 40_000
    kinds = [TaskKind(KindId(pack(1, 11)), "py/", outputs=(KindId(pack(1, 12)),))]
    numbers = range(1000, 1000 + count)
    constants = [b"", b"small", bytes(3_000_000), bytes(range(256)) * 20_000, bytes(1 << 20)]
    return Submission(
        SESSION,
        task_kinds=kinds,
        object_kinds=[ObjectKind(KindId(pack(1, 12)))],
        tasks=TaskColumns(
            ids=[TaskId(pack(1, number)) for number in numbers],
            kinds=[kinds[0].id] * count,
            configs=[number.to_bytes(60, "little") for number in numbers],
            input_counts=[number % 3 for number in numbers],
            inputs=[ObjectId(number) for number in range(sum(number % 3 for number in numbers))],
            outputs=[ObjectId(pack(1, number + count)) for number in numbers],
        ),
        constants=ConstantColumns(
            ids=[ObjectId(pack(1, 20 + place)) for place in range(len(constants))],
            kinds=[KindId(pack(1, 12))] * len(constants),
            data=constants,
        ),
        kept=[OBJECT],
    )


def test_a_large_submission_arrives_whole_and_once() -> None:
    submission = large_submission()
    server = play(lambda client: client.submit(submission))
    ((arrived,),) = server.journal.named("submit")
    constants = submission.constants
    assert arrived.constants.sizes == [len(data) for data in constants.data]
    # What is large went ahead, into files
    assert [
        data or (server.uploads.data(object_id) if size else b"")
        for object_id, data, size in zip(
            arrived.constants.ids, arrived.constants.data, arrived.constants.sizes, strict=True
        )
    ] == constants.data
    assert [len(data) for data in arrived.constants.data] == [0, 5, 0, 0, 0]
    arrived.constants = constants
    assert arrived == submission


def test_a_submission_over_the_bound_is_refused_whole_and_the_next_one_is_taken() -> None:
    def scene(client: ClientConnection) -> None:
        with pytest.raises(RefusedError, match="larger than 400000 bytes"):
            client.submit(large_submission())
        client.submit(Submission(SESSION, kept=[OBJECT]))

    server = play(scene, pending_limit=400_000)
    assert server.journal.named("submit") == [(Submission(SESSION, kept=[OBJECT]),)]


def test_text_that_cannot_be_sent_is_refused_and_leaves_nothing_behind() -> None:
    def scene(client: ClientConnection) -> None:
        bad = large_submission()
        bad.object_kinds = [ObjectKind(KindId(1), "half \udce9")]
        with pytest.raises(RefusedError, match="not UTF-8"):
            client.submit(bad)
        client.submit(Submission(SESSION))

    assert play(scene).journal.named("submit") == [(Submission(SESSION),)]


def test_a_config_over_the_limit_of_a_message_is_refused_by_name() -> None:
    tasks = TaskColumns([TaskId(OBJECT)], [KindId(1)], [bytes(70_000_000)], [0], [], [])

    def scene(client: ClientConnection) -> None:
        with pytest.raises(RefusedError, match="pass large data as constants"):
            client.submit(Submission(SESSION, tasks=tasks))

    play(scene)


def test_a_wait_leaves_together_with_the_submission_before_it() -> None:
    def scene(client: ClientConnection) -> None:
        client.submit_soon(large_submission())
        client.wait(SESSION, [], [], "session")

    entries = play(scene).journal.entries
    assert [entry[0] for entry in entries] == ["client joined", "submit", "wait", "client left"]


def test_the_refusal_of_a_submission_that_nobody_waited_for_is_told_by_the_next_call() -> None:
    def scene(client: ClientConnection) -> None:
        client.submit_soon(Submission(SESSION))
        with pytest.raises(RefusedError, match="two producers"):
            client.wait(SESSION, [], [], "session")
        client.submit_soon(Submission(SESSION))
        client.open_session("another")
        with pytest.raises(RefusedError, match="two producers"):
            client.submit(Submission(SESSION))
        client.fetch(ObjectId(pack(2, 10)))

    def prepare(server: FakeServer) -> None:
        server.data[ObjectId(pack(2, 10))] = b"x"
        server.rules["submit"] = lambda reply: reply.refuse("two producers")
        server.rules["wait"] = lambda reply: reply.refuse("unknown task")

    play(scene, prepare)


def test_small_results_come_with_the_wait() -> None:
    delivery = Delivery([OBJECT], [3], ["text"], [b"abc"])

    def scene(client: ClientConnection) -> None:
        assert client.wait(SESSION, [], [OBJECT], "all").delivery == delivery

    answer = WaitAnswer([], [OBJECT], delivery)
    play(scene, lambda server: server.rules.update(wait=lambda reply: reply.answer(answer)))


def test_a_delivery_over_the_limit_is_cut() -> None:
    delivery = Delivery(
        [ObjectId(number) for number in range(60)], [1 << 20] * 60, [""] * 60, [bytes(1 << 20)] * 60
    )

    def scene(client: ClientConnection) -> None:
        seen = client.wait(SESSION, [], [OBJECT], "all").delivery
        assert 0 < len(seen.ids) < 60
        assert seen.data == delivery.data[: len(seen.ids)]

    answer = WaitAnswer([], [OBJECT], delivery)
    play(scene, lambda server: server.rules.update(wait=lambda reply: reply.answer(answer)))


def test_a_wait_that_times_out_is_abandoned_on_the_server() -> None:
    def scene(client: ClientConnection) -> None:
        with pytest.raises(TimeoutError):
            client.wait(SESSION, [], [], "session", timeout=0.01)
        client.open_session("")

    server = play(scene, lambda server: server.rules.update(wait=lambda reply: None))
    names = [entry[0] for entry in server.journal.entries]
    assert names == ["client joined", "wait", "abandoned", "open_session", "client left"]


def test_waits_of_a_client_that_leaves_are_abandoned_before_it_has_left() -> None:
    replies: list[Reply[Any]] = []

    def scene(client: ClientConnection) -> None:
        waiting = threading.Thread(target=partial(lost, client))
        waiting.start()
        reached.wait()
        client.close()
        waiting.join()

    def lost(client: ClientConnection) -> None:
        with pytest.raises(ConnectionLostError, match="was closed"):
            client.wait(SESSION, [], [], "session")

    def hold(reply: Reply[Any]) -> None:
        replies.append(reply)
        reached.set()

    reached = threading.Event()
    server = play(scene, lambda server: server.rules.update(wait=hold))
    assert server.journal.entries[2:] == [
        ("abandoned", replies[0]),
        ("client left", "the other side closed the connection"),
    ]


def test_an_answer_to_somebody_who_has_gone_goes_nowhere() -> None:
    def scene(client: ClientConnection) -> None:
        with pytest.raises(TimeoutError):
            client.wait(SESSION, [], [], "session", timeout=0.01)

    held: list[Reply[Any]] = []
    server = play(scene, lambda server: server.rules.update(wait=held.append))
    assert server.journal.named("abandoned") == [(held[0],)]
    held[0].answer(WaitAnswer())
    with pytest.raises(InvariantError, match="twice"):
        held[0].refuse("no")


def test_a_large_object_of_the_server_arrives_whole() -> None:
    data = os.urandom(1 << 20) * 50 + b"end"

    def scene(client: ClientConnection) -> None:
        fetched = client.fetch(OBJECT)
        assert fetched.data == data
        assert fetched.report.size == len(data)

    play(scene, lambda server: server.data.update({OBJECT: data}))


def test_a_large_object_goes_into_a_file(tmp_path: Path) -> None:
    data = os.urandom(3_500_000)

    def scene(client: ClientConnection) -> None:
        assert client.fetch(OBJECT, tmp_path / "file").data is None
        assert (tmp_path / "file").read_bytes() == data

    play(scene, lambda server: server.data.update({OBJECT: data}))


def test_an_object_of_a_governor_is_looked_for_again_when_it_moved() -> None:
    data = os.urandom(3_500_000)

    async def main() -> int:
        server = FakeServer()
        listener = listen("127.0.0.1", 0, server)
        gone = listen_streams(FakeStore({}))
        there = listen_streams(FakeStore({OBJECT: data}))
        holders = [gone.address, there.address]

        def fetch(reply: Reply[Any]) -> None:
            report = ObjectReport(OBJECT, ObjectState.FINISHED, len(data))
            holder = holders.pop(0) if len(holders) > 1 else holders[0]
            reply.answer(Fetched(report, None, holder))

        server.rules["fetch"] = fetch

        def script() -> None:
            client = ClientConnection("127.0.0.1", listener.port)
            assert client.fetch(OBJECT).data == data
            client.close()

        with trio.fail_after(60):
            await trio.to_thread.run_sync(script)
        listener.close()
        await gone.close()
        await there.close()
        return 0

    host.run(main)


def test_an_object_that_nobody_gives_is_refused_by_name() -> None:
    def scene(client: ClientConnection) -> None:
        with pytest.raises(RefusedError, match=r"1/10 cannot be fetched: the holder does not"):
            client.fetch(OBJECT)

    play(scene, lambda server: setattr(server, "holder", "127.0.0.1:1"))


def test_many_objects_arrive_in_the_order_in_which_they_were_asked_for() -> None:
    data = {ObjectId(pack(1, number)): bytes([number % 256]) * number for number in range(10, 300)}
    data[OBJECT] = bytes(2_500_000)

    def scene(client: ClientConnection) -> None:
        fetched = client.fetch_many(list(data))
        assert [entry.data for entry in fetched] == list(data.values())
        assert client.fetch_many([]) == []

    play(scene, lambda server: server.data.update(data))


def test_several_threads_share_a_connection() -> None:
    def scene(client: ClientConnection) -> None:
        def work(number: int) -> None:
            for step in range(20):
                task = TaskId(number * 100 + step)
                assert client.wait(SESSION, [task], [], "all").tasks == [task]

        threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        gc.collect()

    assert len(play(scene).journal.named("wait")) == 120


def test_a_client_that_breaks_the_protocol_is_closed_alone_and_told_why() -> None:
    def judge(reply: Reply[Any]) -> None:
        raise ProtocolError("that session is not yours")

    async def main() -> int:
        server = FakeServer(rules={"close_session": judge})
        listener = listen("127.0.0.1", 0, server)

        def script() -> None:
            bad = ClientConnection("127.0.0.1", listener.port)
            good = ClientConnection("127.0.0.1", listener.port)
            expected = (
                f"the server at 127.0.0.1:{listener.port} closed the connection:"
                " that session is not yours"
            )
            for _ in range(2):
                with pytest.raises(ConnectionLostError, match=f"^{re.escape(expected)}$"):
                    bad.close_session(SESSION)
            good.open_session("")
            good.close()
            bad.close()

        with trio.fail_after(60):
            await trio.to_thread.run_sync(script)
            assert ("that session is not yours",) in await server.journal.until("client left", 2)
        listener.close()
        return 0

    host.run(main)


def test_a_killed_server_gives_one_clear_error() -> None:
    async def main() -> int:
        server = FakeServer()
        listener = listen("127.0.0.1", 0, server)
        server.rules["wait"] = lambda reply: listener.close("killed")

        def script() -> None:
            client = ClientConnection("127.0.0.1", listener.port)
            expected = f"the server at 127.0.0.1:{listener.port} closed the connection"
            with pytest.raises(ConnectionLostError, match=f"^{re.escape(expected)}$"):
                client.wait(SESSION, [], [], "session")
            for call in (
                partial(client.open_session, ""),
                partial(client.submit, Submission(SESSION)),
                partial(client.fetch, OBJECT),
                client.server_info,
            ):
                with pytest.raises(ConnectionLostError, match=f"^{re.escape(expected)}$"):
                    call()
            client.close()
            client.close()

        with trio.fail_after(60):
            await trio.to_thread.run_sync(script)
        return 0

    host.run(main)


def test_our_own_mistake_in_a_handler_ends_the_server() -> None:
    def broken(reply: Reply[Any]) -> None:
        raise InvariantError("two owners")

    def scene(client: ClientConnection) -> None:
        with pytest.raises(ConnectionLostError):
            client.open_session("")

    with pytest.raises(InvariantError, match="two owners"):
        play(scene, lambda server: server.rules.update(open_session=broken))


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def test_a_server_that_is_not_there_is_named() -> None:
    port = closed_port()
    expected = f"cannot reach the server at 127.0.0.1:{port}: Connection refused"
    with pytest.raises(StartError, match=f"^{re.escape(expected)}$"):
        ClientConnection("127.0.0.1", port)


def test_a_host_that_nobody_knows_is_named() -> None:
    with pytest.raises(StartError, match=r"cannot reach the server at nowhere\.invalid:1: "):
        ClientConnection("nowhere.invalid", 1)


@contextmanager
def somebody_else(said: bytes) -> Generator[int, None, None]:
    """A port where something listens that is no Rain server."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def greet() -> None:
            stranger, _ = listening.accept()
            with stranger:
                stranger.sendall(said)
                while stranger.recv(1000):
                    pass

        thread = threading.Thread(target=greet)
        thread.start()
        yield listening.getsockname()[1]
        thread.join()


def test_a_server_of_something_else_is_named() -> None:
    with (
        somebody_else(b"220 mail.example ESMTP\r\n" * 20) as port,
        pytest.raises(StartError, match="is not a Rain server"),
    ):
        ClientConnection("127.0.0.1", port)


def test_a_server_that_says_nothing_is_given_up() -> None:
    with (
        somebody_else(b"") as port,
        pytest.raises(StartError, match=r"does not answer within 0\.05 seconds"),
    ):
        ClientConnection("127.0.0.1", port, connect_timeout=0.05)


def test_the_data_port_of_a_governor_is_no_server() -> None:
    async def main() -> int:
        streams = listen_streams(FakeStore({}))

        def script() -> None:
            with pytest.raises(StartError, match="is not a Rain server"):
                ClientConnection(*split_address(streams.address))

        with trio.fail_after(60):
            await trio.to_thread.run_sync(script)
        await streams.close()
        return 0

    host.run(main)


def test_a_client_of_another_version_is_told_both_versions() -> None:
    async def main() -> int:
        server = FakeServer()
        listener = listen("127.0.0.1", 0, server)

        def script() -> None:
            with pytest.raises(StartError, match=r"speaks version 9 .* this server version 2"):
                ClientConnection("127.0.0.1", listener.port, version=9)

        with trio.fail_after(60):
            await trio.to_thread.run_sync(script)
        assert server.journal.entries == []
        listener.close()
        return 0

    host.run(main)
