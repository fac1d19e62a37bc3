"""A governor whose connection was cut registers again: what both sides say then."""

from collections.abc import Awaitable, Callable

import pytest
import trio

from rain.base.errors import StartError
from rain.base.ids import ObjectId, TaskId
from rain.base.wire.update import FinishedTasks, Update
from rain.daemon import program
from rain.rpc.governor_endpoint import NotTakenBackError, RefusedHereError
from rain.rpc.handlers import FencedError, GovernorHello, Resumes
from tests.rpc.fakes import FakeControl, FakeServer, Serving, join, serving

Scene = Callable[[FakeServer, Serving], Awaitable[None]]


def play(scene: Scene) -> None:
    """Runs a scene beside a server that comes back when it has died."""

    async def main() -> int:
        server = FakeServer(returns=True, applied=7)
        async with serving(server, 30) as here:
            await scene(server, here)
        return 0

    program.run(main)


def test_a_governor_that_resumes_says_what_it_has_and_is_told_what_the_server_has() -> None:
    async def scene(server: FakeServer, here: Serving) -> None:
        first = await join(here.nursery, here.listener, FakeControl())
        again = await join(here.nursery, here.listener, FakeControl(), resumes=Resumes(5, 6, 7))
        assert [hello.resumes for hello in server.hellos] == [None, Resumes(5, 6, 7)]
        assert (first.returns, again.returns, again.applied) == (True, True, 7)

    play(scene)


def test_the_answer_to_an_update_says_how_many_are_applied() -> None:
    async def scene(server: FakeServer, here: Serving) -> None:
        control = FakeControl()
        upstream = await join(here.nursery, here.listener, control)
        upstream.update(Update(located=[ObjectId(1)], number=8, heard=3))
        assert await control.journal.until("applied") == [(7,)]
        ((update,),) = server.journal.named("news")
        assert (update.number, update.heard) == (8, 3)

    play(scene)


def test_a_governor_that_cannot_resume_hears_why() -> None:
    def fence(hello: GovernorHello) -> None:
        raise FencedError(f"nothing is known of {hello.incarnation}")

    async def scene(server: FakeServer, here: Serving) -> None:
        server.rules["join governor"] = fence
        with pytest.raises(NotTakenBackError, match="nothing is known of 77"):
            await join(here.nursery, here.listener, FakeControl(), resumes=Resumes(5, 6, 7))

    play(scene)


def test_a_refusal_is_told_from_a_server_that_is_away() -> None:
    async def scene(server: FakeServer, here: Serving) -> None:
        with pytest.raises(RefusedHereError, match="speaks version 99"):
            await join(here.nursery, here.listener, FakeControl(), version=99)
        port = here.port
        await here.listener.drain("the server dies")
        with pytest.raises(StartError, match="cannot reach the server") as caught:
            await join(here.nursery, here.listener, FakeControl(), port=port)
        assert not isinstance(caught.value, RefusedHereError)

    play(scene)


def test_a_peer_that_breaks_the_protocol_is_told_from_one_whose_connection_is_cut() -> None:
    async def scene(server: FakeServer, here: Serving) -> None:
        cut = await join(here.nursery, here.listener, FakeControl())
        cut.close()
        await server.journal.until("governor left")
        assert server.journal.named("at fault") == []
        wrong = await join(here.nursery, here.listener, FakeControl())
        wrong.update(Update(finished=FinishedTasks([TaskId(1)], [1], [-1.0], [0], [], [])))
        await server.journal.until("at fault")

    play(scene)


def test_a_server_that_dies_in_the_middle_of_a_registration_is_away() -> None:
    async def scene(server: FakeServer, here: Serving) -> None:
        server.rules["join governor"] = lambda _: here.listener.close()
        with pytest.raises(StartError) as caught:
            await join(here.nursery, here.listener, FakeControl(), resumes=Resumes(0, 0, 0))
        assert not isinstance(caught.value, RefusedHereError | NotTakenBackError)
        await trio.lowlevel.checkpoint()

    play(scene)
