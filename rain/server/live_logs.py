"""Gets the output of running tasks, on request, from their governors.

The reactor only knows the output of ended runs. So this happens at the border, beside the turns,
and costs nothing unless a client asks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import trio
from attrs import Factory, define, evolve

from rain.base.failures import SessionFailure
from rain.base.ids import GovernorId, TaskId
from rain.base.states import TaskState
from rain.base.wire.answers import ObjectReport, TaskReport
from rain.graph import Task
from rain.rpc.handlers import GovernorLink, Reply
from rain.server.core.state import State

PATIENCE = 2.0
"""Seconds for which a page waits for a governor."""

_OVER = (TaskState.FINISHED, TaskState.FAILED)

Reports = tuple[Sequence[TaskReport], Sequence[ObjectReport]]


@define(eq=False)
class LiveLogs:
    """Asks governors; reads the state between two turns."""

    state: State
    governors: Mapping[GovernorId, GovernorLink]

    async def of(self, task_id: TaskId) -> str:
        """The output of a task so far; "" if it does not run, or its governor is silent."""
        told: list[str] = []
        heard = trio.Event()

        def take(text: str) -> None:
            told.append(text)
            heard.set()

        for link in self._links_of([task_id]).values():
            link.printed(task_id, _Text(take))
            with trio.move_on_after(PATIENCE):
                await heard.wait()
        return told[0] if told else ""

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
            link.printed(task_id, _Text(gathering.taker(task_id)))

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
class _Text:
    """The reply of one governor; one that has gone has nothing to say."""

    then: Callable[[str], object]

    def answer(self, value: str, /) -> None:
        self.then(value)

    def refuse(self, reason: str | SessionFailure, /) -> None:
        del reason  # it has gone, and the task runs there no more
        self.then("")


@define(eq=False)
class _Gathering:
    """Collects the texts, then asks for the reports and puts the texts into those of running
    tasks.
    """

    reply: Reply[Reports]
    ask: Callable[[Reply[Reports]], None]
    missing: int
    texts: dict[TaskId, str] = Factory(dict)

    def taker(self, task_id: TaskId) -> Callable[[str], None]:
        def take(text: str) -> None:
            if text:
                self.texts[task_id] = text
            self.missing -= 1
            if not self.missing:
                self.ask(self)

        return take

    def answer(self, value: Reports, /) -> None:
        tasks, objects = value
        shown = [
            report
            if report.state in _OVER or report.id not in self.texts
            else evolve(report, logs=self.texts[report.id])
            for report in tasks
        ]
        self.reply.answer((shown, objects))

    def refuse(self, reason: str | SessionFailure, /) -> None:
        self.reply.refuse(reason)
