"""Work on files that takes long holds up nothing else, and no order is lost by it."""

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from rain.base.ids import SessionId
from rain.base.wire.orders import Orders
from rain.daemon import program
from rain.governor.core.events import Drain, Event, Tick
from rain.governor.core.results import Stored
from rain.governor.storage.file_work import Deleter, InOrder
from rain.governor.storage.store import Store
from rain.rpc.background import Background
from tests.governor.running import FOLDER, Running, governed, is_alive
from tests.support.waiting import until

pytestmark = pytest.mark.whole


def make_folder(ctx: Any) -> Any:
    """A directory as a result, and whose process has made it."""
    made = Path("made")
    made.mkdir()
    (made / "pid").write_text(str(os.getpid()))
    return ctx.stage_directory("made")


class Blocked:
    """A method of a store that takes until it is let go."""

    def __init__(self, store: Store, name: str) -> None:
        self.begun = threading.Event()
        self.go = threading.Event()
        self._method: Callable[..., Any] = getattr(store, name)
        setattr(store, name, self)

    def __call__(self, given: Any) -> Any:
        self.begun.set()
        self.go.wait()
        return self._method(given)


def test_while_a_directory_is_adopted_others_are_served(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        adopting = Blocked(governor.store, "adopt")
        try:
            slow = governor.call(governor.function(make_folder), outputs=(FOLDER,))
            await until(adopting.begun.is_set)
            quick = governor.function(lambda ctx: 7)
            assert [await governor.value(governor.call(quick)) for _ in range(3)] == [7, 7, 7]
        finally:
            adopting.go.set()
        ((size, _),) = await governor.outputs(slow)
        assert size > 0

    governed(tmp_path, scenario)


def test_a_directory_counts_whose_executor_dies_while_it_is_adopted(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        adopting = Blocked(governor.store, "adopt")
        try:
            made = governor.call(governor.function(make_folder), outputs=(FOLDER,))
            await until(adopting.begun.is_set)
            (staged,) = governor.folder.executors.glob("*/stage/*/pid")
            executor = int(staged.read_text())
            os.kill(executor, signal.SIGKILL)
            await until(lambda: not is_alive(executor))
        finally:
            adopting.go.set()
        await governor.outputs(made)
        # Its folder goes when nothing of it is needed any more.
        await until(lambda: not (governor.folder.executors / "1").exists())

    governed(tmp_path, scenario, cpus=1)


def test_while_files_are_deleted_others_are_served(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        made = governor.call(governor.function(make_folder), outputs=(FOLDER,))
        await governor.outputs(made)
        deleting = Blocked(governor.store, "delete")
        stored = list(governor.store.folder.iterdir())
        assert stored
        try:
            governor.order(Orders(forget_sessions=[SessionId(1)]))
            await until(deleting.begun.is_set)
            governor.register_kinds()
            quick = governor.function(lambda ctx: 7)
            assert await governor.value(governor.call(quick)) == 7
        finally:
            deleting.go.set()
        await until(lambda: not any(one.exists() for one in stored))

    governed(tmp_path, scenario)


def test_a_link_is_not_adopted_at_once_because_what_it_leads_to_may_be_large(
    tmp_path: Path,
) -> None:
    store = Store(tmp_path)
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "folder").mkdir()
    assert store.adopts_at_once(tmp_path / "file")
    assert not store.adopts_at_once(tmp_path / "link")
    assert not store.adopts_at_once(tmp_path / "folder")
    assert isinstance(store.adopt(tmp_path / "link"), Stored)


def test_an_end_before_the_deletion_has_begun_waits_for_nothing(tmp_path: Path) -> None:
    async def main() -> int:
        async with trio.open_nursery() as nursery:
            deleter = Deleter(Store(tmp_path), Background(nursery))
            nursery.cancel_scope.cancel()  # so that no thread is started any more
            deleter.delete([1])
        deleter.close()
        with trio.fail_after(30):
            await trio.to_thread.run_sync(deleter.join, abandon_on_cancel=True)
        return 0

    program.run(main)


def test_a_wait_for_the_threads_of_an_executor_lasts_until_later_ones_have_ended_too() -> None:
    told: list[Event] = []
    first, second = threading.Event(), threading.Event()

    async def main() -> int:
        async with trio.open_nursery() as nursery:
            in_order = InOrder(told.append, Background(nursery))
            in_order.later(first.wait, lambda _: [Drain()])
            nursery.start_soon(in_order.idle)
            await wait_all_tasks_blocked()
            in_order.later(second.wait, lambda _: [Tick()])
            first.set()
            second.set()
            nursery.cancel_scope.deadline = trio.current_time() + 5
        assert not nursery.cancel_scope.cancelled_caught
        return 0

    program.run(main)
    assert told == [Drain(), Tick()]
