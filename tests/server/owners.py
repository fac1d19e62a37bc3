"""Clients with sessions of their own, whose results have futures of each other inside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st

from rain.base.failures import OnFailure
from rain.base.ids import ObjectId, TaskId
from rain.base.states import TaskRow
from rain.server.core import circles
from rain.server.core.messages import Granted
from tests.support.fake_client import FakeClient
from tests.support.scenes import Scene, scene
from tests.support.submissions import Draft

READY = TaskRow.READY
Draw = Callable[[st.SearchStrategy[Any]], Any]


class Owner:
    """A client and its session."""

    def __init__(self, s: Scene) -> None:
        self.s = s
        self.client: FakeClient = s.world.client()
        self.makers: dict[ObjectId, TaskId] = {}
        self.draft: Draft = self.client.session(on_failure=OnFailure.CONTINUE)

    def submit(self, *inputs: ObjectId, inside: Sequence[ObjectId] = ()) -> tuple[TaskId, ObjectId]:
        task, (made,) = self.draft.task(*inputs, cpus=0, keep=True)
        self.makers[made] = task
        if inside:
            self.draft.contain(task, *inside)
        assert isinstance(self.client.submit(self.draft), Granted)
        return task, made

    def begin(self, task: TaskId) -> None:
        self.s.assign(task)
        self.s.governors[0].start(task)

    def start(self) -> tuple[TaskId, ObjectId]:
        task, made = self.submit()
        self.begin(task)
        return task, made

    def lets_go(self, *objects: ObjectId) -> None:
        tasks = [self.makers.pop(one) for one in objects if one in self.makers]
        self.client.drop(*tasks, objects=objects)

    def takes(self, *objects: ObjectId) -> None:
        assert isinstance(self.client.take(*objects, keep=True), Granted)


def a_scene() -> Scene:
    return scene(8, on_failure=OnFailure.CONTINUE)


def finish(s: Scene, task: TaskId, *contents: ObjectId, data: bytes | None = b"futures") -> None:
    s.governors[0].finish(task, data=data, contents=contents)


def pass_time(s: Scene) -> None:
    """So much that there has been another look, and that all has gone that goes in parts."""
    for _ in range(5):
        s.world.turn(after=circles.PAUSE)


def known(s: Scene, *objects: ObjectId) -> list[ObjectId]:
    return [one for one in objects if one in s.world.state.graph.objects]


def circle(s: Scene, data: bytes | None = b"futures") -> tuple[Owner, Owner, ObjectId, ObjectId]:
    """Two results in sessions of two clients, each with the future of the other one inside."""
    one, other = Owner(s), Owner(s)
    first, a = one.start()
    second, b = other.start()
    finish(s, first, b, data=data)
    finish(s, second, a, data=data)
    return one, other, a, b
