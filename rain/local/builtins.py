"""Rain's built-in tasks and external programs, run in a thread that waits for them.

The built-in tasks are plain functions. External programs are processes here, too: a thread with a
trio loop of its own runs them as a governor does. It starts with the first program.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from queue import SimpleQueue

import structlog
import trio
from attrs import evolve

from rain.base.ids import SessionId
from rain.governor.core.cancelling import GRACE
from rain.governor.core.effects import RunBuiltin
from rain.governor.core.events import BuiltinDone, Event
from rain.governor.core.results import Failed, Made, Outputs, PassedOn
from rain.governor.environments.lazy import LazyEnvironments
from rain.governor.machine.memory_files import KernelKills
from rain.governor.machine.warden import Warden
from rain.governor.programs.builtin import in_a_folder, method_of, rest_of, same
from rain.governor.programs.builtin_files import IN_A_THREAD, BuiltinJob
from rain.governor.programs.run import Programs
from rain.governor.programs.sandbox import attempt
from rain.governor.storage.store import Store
from rain.governor.workplace import Bounds, Workplace
from rain.local.clock import DURATION
from rain.rpc.background import Background


class Builtins:
    """Runs one of them at a time."""

    def __init__(self, folder: Path, store: Store) -> None:
        folder.mkdir()
        self._folder = folder
        self._store = store
        self._loop: _Loop | None = None
        self._running = 0  # the number of the run
        self._sleeps = threading.Event()  # set when the running one shall not sleep any longer

    def run(self, effect: RunBuiltin) -> BuiltinDone:
        """Runs a task to its end. An interruption stops it."""
        self._running = effect.run
        self._sleeps.clear()
        try:
            if method_of(effect) == "run":
                return self._run_program(effect)
            return BuiltinDone(effect.run, DURATION, self._work(effect))
        finally:
            self._running = 0

    def stop(self, run: int) -> None:
        """Stops this run, if it is the current one. Any thread may call it."""
        if run == self._running:
            self._sleeps.set()
            if self._loop is not None:
                self._loop.stop(run)

    def stop_any(self) -> None:
        """Stops the current run, if there is one."""
        if self._running:
            self.stop(self._running)

    def forget(self, sessions: Sequence[SessionId]) -> None:
        """Ends what the programs of these ended sessions have left behind."""
        if self._loop is not None:
            self._loop.forget(sessions)

    def close(self) -> None:
        """Ends the thread with the loop, if there is one."""
        if self._loop is not None:
            self._loop.close()

    def _work(self, effect: RunBuiltin) -> Outputs | Failed:
        method = method_of(effect)
        job = BuiltinJob(effect, self._store, self._folder / str(effect.run))
        if method == "sleep":
            rest = attempt(effect, rest_of, job)
            if isinstance(rest, Failed):
                return rest
            seconds, source = rest
            self._sleeps.wait(seconds)
            return [Made(PassedOn(source.id))]
        if method == "same":
            return same(effect)
        if method not in IN_A_THREAD:
            return Failed(f"there is no task type {effect.kind.task_type!r}")
        return attempt(effect, in_a_folder, IN_A_THREAD[method], job)

    def _run_program(self, effect: RunBuiltin) -> BuiltinDone:
        if self._loop is None:
            self._loop = _Loop(self._folder, self._store)
        loop = self._loop
        loop.start(effect)
        try:
            done = loop.done.get()
        except BaseException:  # an interruption
            loop.stop(effect.run)
            loop.done.get()
            raise
        return evolve(done, duration=DURATION)


class _Loop:
    """The thread with the loop."""

    def __init__(self, folder: Path, store: Store) -> None:
        self.done: SimpleQueue[BuiltinDone] = SimpleQueue()
        self._folder = folder
        self._store = store
        self._is_ready = threading.Event()
        self._thread = threading.Thread(
            target=trio.run, args=(self._main,), name="rain-local-programs", daemon=True
        )
        self._thread.start()
        self._is_ready.wait()

    async def _main(self) -> None:
        self._token = trio.lowlevel.current_trio_token()
        self._end = trio.Event()
        async with trio.open_nursery() as nursery:
            background = Background(nursery)
            self._warden = Warden(self._folder, background)
            self._programs = Programs(
                Workplace(
                    self._store,
                    self._folder,
                    self._warden,
                    background,
                    self._tell,
                    GRACE,
                    KernelKills(),
                    Bounds(),
                    LazyEnvironments(self._store, self._warden, structlog.get_logger()),
                )
            )
            self._is_ready.set()
            await self._end.wait()
            nursery.cancel_scope.cancel()
        self._warden.close()

    def _tell(self, event: Event) -> None:
        assert isinstance(event, BuiltinDone)
        self.done.put(event)

    def start(self, effect: RunBuiltin) -> None:
        trio.from_thread.run_sync(self._programs.start, effect, trio_token=self._token)

    def stop(self, run: int) -> None:
        trio.from_thread.run_sync(self._programs.stop, run, trio_token=self._token)

    def forget(self, sessions: Sequence[SessionId]) -> None:
        def end() -> None:
            for session in sessions:
                self._warden.strays.end(self._warden.origin.session(session))

        trio.from_thread.run_sync(end, trio_token=self._token)

    def close(self) -> None:
        trio.from_thread.run_sync(self._end.set, trio_token=self._token)
        self._thread.join()
