"""Two reactors that live through the same turns: the second one from a state that was loaded."""

from __future__ import annotations

from typing import Any

from attrs import define, field

from rain.graph import Graph
from rain.scheduler.api import News
from rain.scheduler.renewal import forget, without_plan
from rain.server.core.messages import TurnInput
from rain.server.core.reactor import Reactor, TurnOutput
from rain.server.core.state import State
from rain.server.recording import decode, encode
from rain.server.snapshot.saving import load, save
from rain.server.snapshot.writing import Tables


@define(eq=False)
class Twins(Reactor):
    """Whatever the first one does, the second one must do as well."""

    other: Reactor = field(init=False)

    def __attrs_post_init__(self) -> None:
        data = b"".join(save(self.state))
        loaded = load(data).state
        assert_same(loaded, self.state)
        for state in (self.state, loaded):
            forget(state.graph)
            state.news = _all_anew(state.graph, state.news)
        Reactor.__attrs_post_init__(self)
        self.other = Reactor(self.make, loaded, self.guard)

    def turn(self, given: TurnInput) -> TurnOutput:
        written = encode(given)
        output = Reactor.turn(self, decode(TurnInput, written))
        other = self.other.turn(decode(TurnInput, written))
        assert other.effects == output.effects
        assert other.interrupted_after == output.interrupted_after
        assert self.other.next_time() == self.next_time()
        return output


def _all_anew(graph: Graph, former: News) -> News:
    """For schedulers that know nothing of the past; what has gone is still to be taken apart."""
    tasks = without_plan(graph.tasks.values())
    return News(submitted=tasks, joined=list(graph.governors.values()), gone=former.gone)


class _Dump(Tables):
    def __init__(self) -> None:
        super().__init__()
        self.columns: dict[str, list[Any]] = {}

    def write(self, name: str, kind: type, values: list[Any]) -> None:
        self.columns[name] = values


def dump(state: State) -> dict[str, list[Any]]:
    """All that is saved of a state, so that it can be compared."""
    tables = _Dump()
    tables.reach(state)
    for layout, there in tables.tables():
        for one in layout.fields:
            one.shape.write(layout.column(one), list(map(one.of, there)), tables)
    return tables.columns


def assert_same(one: State, other: State) -> None:
    """Both say the same, down to the last field."""
    first, second = dump(one), dump(other)
    different = {
        name: (first.get(name), second.get(name))
        for name in first | second
        if first.get(name) != second.get(name)
    }
    assert not different, different
