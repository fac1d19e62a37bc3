"""The I/O side of watching: reads the output files of running tasks at intervals."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

import trio

from rain.base.wire.printed import PrintedLines, Watch
from rain.governor.core.events import BuiltinDone, CallsDone, Event, ExecutorDied
from rain.governor.core.nodes import Task
from rain.governor.core.reactor import Reactor
from rain.governor.executors.links import Executors
from rain.governor.programs.builtin import Builtins
from rain.governor.watching import LOOK, Look, WatchedTask, Watching, look_at
from rain.rpc.background import Background

Say = Callable[[int, Sequence[PrintedLines]], object]
"""Tells the server the newest lines of a watch."""


class Watcher:
    """All watches of a governor. It looks at nothing while there are none."""

    def __init__(
        self,
        reactor: Reactor,
        executors: Executors,
        builtins: Builtins,
        background: Background,
        say: Say,
    ) -> None:
        self._reactor = reactor
        self._executors = executors
        self._builtins = builtins
        self._background = background
        self._say = say
        self._watching = Watching()
        self._looks = False  # it looks from time to time

    def watch(self, number: int, watch: Watch | None) -> None:
        """A watch begins, is for something else now, or ends."""
        self._watching.watch(number, watch)
        if watch is not None and not self._looks:
            self._looks = True
            self._background.start(self._look_around)

    def end_all(self) -> None:
        """The last watch has ended."""
        for number in list(self._watching.watches):
            self._watching.watch(number, None)

    @property
    def is_on(self) -> bool:
        """Whether there is any watch."""
        return bool(self._watching.watches)

    def heard(self, event: Event) -> None:
        """Takes an event that ends runs, before the state hears of it."""
        if isinstance(event, CallsDone):
            if event.printed:
                tasks = {task.id: task for task in self._reactor.calls_of(event.executor)}
                for task_id, streams in event.printed:
                    self._over(tasks.get(task_id), look_at(streams))
        elif isinstance(event, ExecutorDied):
            calls = self._reactor.calls_of(event.executor)
            if len(calls) > event.unstarted:
                running = calls[len(calls) - event.unstarted - 1]
                self._over(running, look_at(event.printed))
        elif isinstance(event, BuiltinDone):
            self._over(
                self._reactor.state.dispatch.runs.get(event.run), self._builtins.look_at(event.run)
            )

    def flush(self) -> None:
        """Sends waiting output to the server, before the ends of the runs."""
        if self._watching:
            for number, lines in self._watching.take():
                self._say(number, lines)

    def _over(self, task: Task | None, look: Look | None) -> None:
        if task is not None and look is not None:
            self._watching.over(_seen(task, look))

    async def _look_around(self) -> None:
        while self.is_on:
            self._watching.look(self._running(), time.monotonic())
            self.flush()
            await trio.sleep(LOOK)
        self._looks = False

    def _running(self) -> Iterator[WatchedTask]:
        for task in self._reactor.state.all_running():
            if task.executor is not None:
                look = self._executors.look_at(task.executor.id)
            else:
                look = self._builtins.look_at(task.run)
            if look is not None:
                yield _seen(task, look)


def _seen(task: Task, look: Look) -> WatchedTask:
    kind = task.kind.kind
    return WatchedTask(task.id, kind.name, look, kind.root)
