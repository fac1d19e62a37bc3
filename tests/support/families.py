"""Tasks that submit tasks, and are tried again."""

from __future__ import annotations

from rain.base.failures import OnFailure
from rain.base.ids import ObjectId, TaskId
from rain.base.runs import RunCause
from rain.base.states import TaskRow
from tests.support.fake_client import FakeClient
from tests.support.fake_governor import FakeGovernor
from tests.support.scenes import scene
from tests.support.submissions import Draft


class Family:
    """A parent on the first of two governors, and what each of its runs submits."""

    def __init__(self, tries: int = 2) -> None:
        self.s = scene(4, 4, on_failure=OnFailure.CONTINUE)
        self.parent, _ = self.s.draft.task(tries=tries)
        self.s.submit()
        self.client, self.draft = self.begin(0)

    def begin(self, on: int) -> tuple[FakeClient, Draft]:
        """A run of the parent starts on a governor, and its client opens a session."""
        s = self.s
        s.assign(self.parent, to=on)
        s.governors[on].start(self.parent)
        client = s.world.client()
        return client, client.session(on_failure=OnFailure.CONTINUE, parent=self.parent)

    def submit(self, draft: Draft, config: bytes, *inputs: ObjectId) -> tuple[TaskId, ObjectId]:
        task, (made,) = draft.task(*inputs, config=config, keep=True)
        return task, made

    def finish(self, task: TaskId, data: bytes) -> None:
        """Whichever governor it is on."""
        self.s.world.turn()
        (at,) = [one for one in self.s.governors if task in one.tasks]
        at.finish(task, data=data)

    def row(self, task: TaskId) -> TaskRow:
        return self.s.world.task(task).row

    def data(self, made: ObjectId) -> bytes | None:
        return self.s.world.object(made).data


def governor_lost(family: Family) -> None:
    family.s.world.governors[0].leave()


def executor_died(family: Family) -> None:
    family.s.governors[0].fail(family.parent, cause=RunCause.EXECUTOR)


def lost_after(family: Family, *made: tuple[bytes, bytes]) -> tuple[FakeClient, Draft]:
    """The parent has made these results when its governor is lost; its next run has begun."""
    tasks = [(family.submit(family.draft, config)[0], data) for config, data in made]
    family.client.submit(family.draft)
    for task, data in tasks:
        family.finish(task, data)
    governor_lost(family)
    family.s.world.turn()
    return family.begin(1)


def next_run(family: Family) -> tuple[FakeClient, Draft]:
    """The executor of the parent has died, and its next run begins."""
    executor_died(family)
    family.s.world.turn()
    return family.begin(1)


def at_work(family: Family, task: TaskId) -> FakeGovernor:
    """The governor that runs a task."""
    family.s.world.turn()
    (at,) = [one for one in family.s.governors if task in one.tasks]
    return at
