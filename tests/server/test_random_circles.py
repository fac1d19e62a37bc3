"""Random programs with futures inside of results: what stays is what a plain walk reaches."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from rain.base.ids import ObjectId, TaskId
from rain.graph import DataObject, Graph
from rain.server.core import circles
from rain.server.core.messages import Granted
from tests.server.owners import READY, Draw, Owner, a_scene, finish, known, pass_time
from tests.support.effort import examples


def reachable(graph: Graph) -> set[DataObject]:
    """What anybody can get at, by a plain walk from all that claims something for itself."""
    found: set[DataObject] = set()
    pending = [one for one in graph.objects.values() if one.handles.wants_data]
    for task in graph.tasks.values():
        if not task.is_done:
            pending += [*task.inputs, *task.session.contents.get(task, ())]
    while pending:
        one = pending.pop()
        if one in found:
            continue
        found.add(one)
        pending += one.session.contents.get(one, ())
        if one.producer is not None and one.producer.may_run_again:
            pending += one.producer.inputs
            pending += one.producer.session.contents.get(one.producer, ())
    return found


class Lives:
    """Clients that submit, take, let go and leave in any order, while tasks finish."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.s = a_scene()
        self.owners = [Owner(self.s) for _ in range(draw(st.integers(1, 4)))]
        self.gone: list[Owner] = []
        self.made: list[ObjectId] = []
        self.waiting: dict[TaskId, Owner] = {}

    def some(self, most: int = 2) -> list[ObjectId]:
        made = known(self.s, *self.made)
        return (
            self.draw(st.lists(st.sampled_from(made), max_size=most, unique=True)) if made else []
        )

    def submit(self, owner: Owner) -> None:
        inputs, inside = self.some(), self.some()
        if all(isinstance(owner.client.take(one, keep=True), Granted) for one in inputs + inside):
            task, result = owner.submit(*inputs, inside=inside)
            self.made.append(result)
            self.waiting[task] = owner

    def run(self, _: Owner) -> None:
        graph = self.s.world.state.graph
        ready = [
            one for one in self.waiting if one in graph.tasks and graph.tasks[one].row is READY
        ]
        if ready:
            task = self.draw(st.sampled_from(ready))
            self.waiting.pop(task).begin(task)
            data = None if self.draw(st.booleans()) else b"small"
            finish(self.s, task, *self.some(3), data=data)

    def take(self, owner: Owner) -> None:
        for one in self.some():
            owner.client.take(one, keep=True)

    def let_go(self, owner: Owner) -> None:
        owner.lets_go(*self.some(4))

    def leave(self, owner: Owner) -> None:
        if len(self.owners) > 1:
            self.owners.remove(owner)
            owner.client.leave()

    def look(self, _: Owner) -> None:
        self.s.world.turn(after=circles.PAUSE)


STEPS = [Lives.submit, Lives.run, Lives.run, Lives.take, Lives.let_go, Lives.let_go, Lives.look]


@given(data=st.data())
@settings(max_examples=examples(250), deadline=None)
def test_what_stays_is_what_a_plain_walk_reaches(data: st.DataObject) -> None:
    lives = Lives(data.draw)
    for step in data.draw(st.lists(st.sampled_from([*STEPS, Lives.leave]), max_size=50)):
        step(lives, data.draw(st.sampled_from(lives.owners)))

    pass_time(lives.s)

    graph = lives.s.world.state.graph
    finished = {one for one in graph.objects.values() if one.is_finished}
    assert finished == {one for one in reachable(graph) if one.is_finished}
