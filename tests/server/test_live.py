"""What running tasks have printed so far, and their memory, is asked of their governors."""

from __future__ import annotations

from collections.abc import Sequence

import trio
from attrs import Factory, define

from rain.base.failures import SessionFailure
from rain.base.ids import GovernorId, TaskId
from rain.base.states import TaskState
from rain.base.wire.answers import GovernorReport, ObjectReport, RunningTask, TaskMemory, TaskReport
from rain.base.wire.orders import Orders
from rain.base.wire.printed import Watch
from rain.rpc.handlers import Reply
from rain.server.live import Live, Reports
from tests.support.scenes import Scene, scene


@define(eq=False)
class AskedGovernor:
    """Keeps what it is asked until a test answers."""

    asked: list[tuple[TaskId, Reply[RunningTask]]] = Factory(list)

    def running(self, task: TaskId, reply: Reply[RunningTask]) -> None:
        self.asked.append((task, reply))

    def order(self, orders: Orders) -> None: ...

    def report(self, reply: Reply[GovernorReport]) -> None: ...

    def watch(self, number: int, watch: Watch | None) -> None: ...

    def call_back(self, ticket: bytes) -> None: ...

    def stop(self, reason: str) -> None: ...

    def close(self, reason: str) -> None: ...


@define(eq=False)
class Heard:
    """The client's end."""

    answers: list[str] = Factory(list)
    memory: list[TaskMemory] = Factory(list)

    def answer(self, value: Reports, /) -> None:
        self.answers += [report.logs for report in value[0]]
        self.memory += [report.memory for report in value[0]]

    def refuse(self, reason: str | SessionFailure, /) -> None:
        self.answers.append(str(reason))


@define(eq=False)
class Asking:
    """Two running tasks, their governor, and a client that asks."""

    scene: Scene
    governor: AskedGovernor
    live: Live
    tasks: list[TaskId]
    heard: Heard = Factory(Heard)
    states: list[TaskState] = Factory(list)  # of the tasks, when the reactor is asked

    def ask(self, reply: Reply[Reports]) -> None:
        """As the reactor answers: with what earlier runs have printed."""
        reports = [
            TaskReport(task, state, logs="kept")
            for task, state in zip(self.tasks, self.states, strict=True)
        ]
        nothing: Sequence[ObjectReport] = ()
        reply.answer((reports, nothing))


def asking(state: TaskState = TaskState.RUNNING) -> Asking:
    s = scene(1)
    tasks = [s.draft.task()[0] for _ in range(2)]
    s.submit()
    for task in tasks:
        s.assign(task)
    governor = AskedGovernor()
    live = Live(s.world.state, {GovernorId(s.governors[0].id): governor})
    return Asking(s, governor, live, tasks, states=[state] * 2)


def test_running_tasks_are_shown_with_what_they_have_printed_so_far_and_their_memory() -> None:
    a = asking()
    a.live.with_live(a.tasks, a.heard, a.ask)
    assert [task for task, _ in a.governor.asked] == a.tasks
    a.governor.asked[0][1].answer(RunningTask("so far", TaskMemory(3, 5, 2)))
    assert a.heard.answers == []  # before the other one has answered
    a.governor.asked[1][1].answer(RunningTask())
    assert a.heard.answers == ["so far", "kept"]
    assert a.heard.memory == [TaskMemory(3, 5, 2), TaskMemory()]
    assert [bool(memory) for memory in a.heard.memory] == [True, False]


def test_a_governor_that_has_gone_does_not_hold_up_the_answer() -> None:
    a = asking()
    a.live.with_live(a.tasks[:1], a.heard, a.ask)
    a.governor.asked[0][1].refuse("the governor has left")
    assert a.heard.answers == ["kept", "kept"]


def test_what_has_ended_meanwhile_is_shown_with_all_that_it_has_printed_and_no_memory() -> None:
    a = asking(TaskState.FINISHED)
    a.live.with_live(a.tasks, a.heard, a.ask)
    for _, reply in a.governor.asked:
        reply.answer(RunningTask("so far", TaskMemory(3, 5, 2)))
    assert a.heard.answers == ["kept", "kept"]


def test_nobody_is_asked_about_tasks_that_do_not_run() -> None:
    a = asking()
    for task in a.tasks:
        a.scene.governors[0].finish(task)
    a.live.with_live([*a.tasks, TaskId(1 << 40)], a.heard, a.ask)
    assert a.governor.asked == []
    assert a.heard.answers == ["kept", "kept"]


def test_a_page_waits_for_a_silent_governor_only_for_a_while() -> None:
    a = asking()
    heard: list[RunningTask] = []

    async def main() -> None:
        heard.append(await a.live.of(a.tasks[0]))
        async with trio.open_nursery() as nursery:

            async def look() -> None:
                heard.append(await a.live.of(a.tasks[0]))

            nursery.start_soon(look)
            await trio.testing.wait_all_tasks_blocked()
            a.governor.asked[-1][1].answer(RunningTask("so far"))

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    assert [running.printed for running in heard] == ["", "so far"]
