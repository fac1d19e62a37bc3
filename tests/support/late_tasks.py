"""Late tasks, and the second runs that they get."""

from __future__ import annotations

from attrs import define

from rain.base.failures import OnFailure
from rain.base.ids import ObjectId, TaskId, is_of_server
from rain.base.runs import RunCause, RunState
from rain.graph import Task
from rain.graph.lateness import Rule
from rain.server.core.reactor_settings import ReactorSettings
from tests.support.fake_governor import FakeGovernor
from tests.support.scenes import Scene, scene

SETTINGS = ReactorSettings(
    debug=True, governor_silence=1e9, much_wait=0.0, little_wait=0.0, lateness=Rule(least=100.0)
)


@define(eq=False)
class Late:
    """Four tasks, of which three have finished on the first governor and one runs there."""

    scene: Scene
    task: TaskId
    made: list[ObjectId]

    @property
    def node(self) -> Task:
        return self.scene.world.task(self.task)

    @property
    def first(self) -> FakeGovernor:
        return self.scene.governors[0]

    @property
    def second(self) -> FakeGovernor:
        return self.scene.governors[1]

    @property
    def shadow(self) -> TaskId | None:
        """What the second governor runs for it."""
        found = [task for task in self.second.tasks if is_of_server(task)]
        assert len(found) < 2
        return found[0] if found else None

    def the_shadow(self) -> TaskId:
        shadow = self.shadow
        assert shadow is not None
        return shadow

    def wait(self, seconds: float = 100.0) -> None:
        self.scene.world.turn(after=seconds)


def late(
    *,
    idempotent: bool = True,
    on_failure: OnFailure = OnFailure.STOP,
    governors: int = 2,
    tries: int = 1,
    outputs: int = 1,
) -> Late:
    """The scene before the task is late."""
    s = scene(*[4] * governors, settings=SETTINGS, on_failure=on_failure)
    tasks = [
        s.draft.task(keep=True, idempotent=idempotent, tries=tries, outputs=outputs)
        for _ in range(4)
    ]
    s.submit()
    ids = [task for task, _ in tasks]
    s.assign(*ids)
    s.governors[0].start(ids[3])
    s.governors[0].finish(*ids[:3], data=b"data")
    return Late(s, *tasks[3])


def runs(one: Late) -> list[tuple[str, RunState, RunCause | None]]:
    return [(run.governor, run.state, run.cause) for run in one.node.runs]


def nothing_is_left(one: Late) -> None:
    """The shadow has gone, on all sides."""
    one.wait()
    graph = one.scene.world.state.graph
    assert not graph.shadows
    assert not any(map(is_of_server, graph.tasks))
    assert not any(map(is_of_server, graph.objects))
    for governor in one.scene.governors:
        assert not any(map(is_of_server, [*governor.tasks, *governor.held]))
