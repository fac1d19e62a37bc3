"""Gets the output and the memory of running tasks, on request, from their governors.

The reactor only knows the output and the memory of ended runs. So this happens at the border,
beside the turns, and costs nothing unless a client asks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import trio
from attrs import Factory, define, evolve

from rain.base.failures import SessionFailure
from rain.base.ids import GovernorId, TaskId
from rain.base.states import TaskState
from rain.base.wire.answers import ObjectReport, RunningTask, TaskReport
from rain.graph import Task
from rain.rpc.handlers import GovernorLink, Reply
from rain.server.core.state import State

PATIENCE = 2.0
"""Seconds for which a page waits for a governor."""

_OVER = (TaskState.FINISHED, TaskState.FAILED)

Reports = tuple[Sequence[TaskReport], Sequence[ObjectReport]]


@define(eq=False)
class Live:
    """Asks governors; reads the state between two turns."""

    state: State
    governors: Mapping[GovernorId, GovernorLink]

    async def of(self, task_id: TaskId) -> RunningTask:
        """What its governor says; nothing if the task does not run, or its governor is silent."""
        told: list[RunningTask] = []
        heard = trio.Event()

        def take(running: RunningTask) -> None:
            told.append(running)
            heard.set()

        for link in self._links_of([task_id]).values():
            link.running(task_id, _Heard(take))
            with trio.move_on_after(PATIENCE):
                await heard.wait()
        return told[0] if told else RunningTask()

    def with_live(
        self, tasks: Sequence[TaskId], reply: Reply[Reports], ask: Callable[[Reply[Reports]], None]
    ) -> None:
        """Asks the governors of those that run, and then asks for the reports of all."""
        links = self._links_of(tasks)
        if not links:
            ask(reply)
            return
        gathering = _Gathering(reply, ask, len(links))
        for task_id, link in links.items():
            link.running(task_id, _Heard(gathering.taker(task_id)))

    def _links_of(self, task_ids: Sequence[TaskId]) -> dict[TaskId, GovernorLink]:
        """Where the tasks run that do."""
        links: dict[TaskId, GovernorLink] = {}
        for task_id in task_ids:
            task = self.state.graph.tasks.get(task_id)
            link = None if task is None else self._link_of(task)
            if link is not None:
                links[task_id] = link
        return links

    def _link_of(self, task: Task) -> GovernorLink | None:
        governor = task.assigned
        if governor is None or task.is_done:
            return None
        return self.governors.get(governor.id)


@define(eq=False)
class _Heard:
    """The reply of one governor; one that has gone has nothing to say."""

    then: Callable[[RunningTask], object]

    def answer(self, value: RunningTask, /) -> None:
        self.then(value)

    def refuse(self, reason: str | SessionFailure, /) -> None:
        del reason  # it has gone, and the task runs there no more
        self.then(RunningTask())


@define(eq=False)
class _Gathering:
    """Collects what governors say, then asks for the reports and adds it to those of running
    tasks.
    """

    reply: Reply[Reports]
    ask: Callable[[Reply[Reports]], None]
    missing: int
    running: dict[TaskId, RunningTask] = Factory(dict)

    def taker(self, task_id: TaskId) -> Callable[[RunningTask], None]:
        def take(running: RunningTask) -> None:
            self.running[task_id] = running
            self.missing -= 1
            if not self.missing:
                self.ask(self)

        return take

    def answer(self, value: Reports, /) -> None:
        tasks, objects = value
        self.reply.answer(([self._with_live(report) for report in tasks], objects))

    def refuse(self, reason: str | SessionFailure, /) -> None:
        self.reply.refuse(reason)

    def _with_live(self, report: TaskReport) -> TaskReport:
        running = self.running.get(report.id)
        if running is None or report.state in _OVER:
            return report
        return evolve(report, logs=running.printed or report.logs, memory=running.memory)
