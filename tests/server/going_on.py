"""Scenes with a session that goes on after failures, and how its objects stand."""

from __future__ import annotations

from rain.base.failures import OnFailure
from rain.base.ids import ObjectId, TaskId
from tests.support.scenes import Scene, scene


def goes_on(*cpus: int) -> Scene:
    return scene(*cpus, on_failure=OnFailure.CONTINUE)


def settle(s: Scene) -> None:
    """Whatever goes in parts has gone."""
    for _ in range(5):
        s.world.turn()


def states(s: Scene, *objects: ObjectId) -> list[str]:
    """How these stand, or that they have gone."""
    found = [s.world.state.graph.objects.get(one) for one in objects]
    return ["gone" if one is None else one.state.name.lower() for one in found]


def finished(s: Scene) -> tuple[TaskId, ObjectId]:
    """A finished task, whose kept result only its governor has."""
    task, (made,) = s.draft.task(keep=True)
    s.submit()
    s.run(task)
    return task, made


def nodes(s: Scene) -> tuple[int, int]:
    graph = s.world.state.graph
    return len(graph.tasks), len(graph.objects)
