"""A large object spreads as a tree: no holder sends it to many, and no machine gets it twice."""

from __future__ import annotations

from collections import Counter

from rain.base.ids import ObjectId, TaskId, session_of
from rain.base.wire.orders import LATER, SERVER
from rain.base.wire.update import Update
from rain.server.core.sources import SENDS_AT_ONCE, TREE_FROM
from tests.support.scenes import Scene, scene

LARGE = 1 << 30


def spread(s: Scene, machines: int, size: int, on_each: int = 1) -> tuple[ObjectId, list[TaskId]]:
    """An object on the first governor, and a reader of it on each of many others."""
    for machine in range(machines):
        for _ in range(on_each):
            s.governors.append(s.world.governor(host=f"10.0.{machine // 250}.{machine % 250}"))
    producer, (a,) = s.draft.task(keep=True)
    readers = [s.draft.task(a)[0] for _ in range(machines * on_each)]
    s.submit()
    s.run(producer, on=0, size=size)
    s.plan(*[s.assigning(reader, to=1 + place) for place, reader in enumerate(readers)])
    return a, readers


def coming(s: Scene, a: ObjectId) -> dict[int, str]:
    """From where each governor fetches it now."""
    return {
        place: governor.coming[a].split()[0]
        for place, governor in enumerate(s.governors)
        if governor.coming.get(a, LATER) != LATER
    }


def waiting(s: Scene, a: ObjectId) -> int:
    return sum(governor.coming.get(a) == LATER for governor in s.governors)


def test_an_object_reaches_a_hundred_machines_though_each_sends_it_to_few() -> None:
    s = scene(1)
    a, _ = spread(s, machines=100, size=LARGE)
    assert len(coming(s, a)) == SENDS_AT_ONCE
    sends: Counter[str] = Counter()
    rounds = 0
    while on_way := coming(s, a):
        rounds += 1
        assert max(Counter(on_way.values()).values()) <= SENDS_AT_ONCE
        sends.update(on_way.values())
        for place in on_way:
            s.governors[place].locate(a)
    assert waiting(s, a) == 0
    assert sum(sends.values()) == 100
    assert rounds == 5  # each round has three times as many holders as the one before
    assert max(sends.values()) <= SENDS_AT_ONCE * rounds
    assert not s.world.state.unsourced


def test_small_objects_are_read_from_their_holder_at_once() -> None:
    s = scene(1)
    a, _ = spread(s, machines=10, size=TREE_FROM - 1)
    assert set(coming(s, a).values()) == {s.governors[0].source}
    assert len(coming(s, a)) == 10


def test_one_governor_of_a_machine_fetches_it_and_the_others_have_it_from_there() -> None:
    s = scene(1)
    a, _ = spread(s, machines=2, size=LARGE, on_each=3)
    assert set(coming(s, a)) == {1, 4}
    s.governors[1].locate(a)
    assert {place: coming(s, a)[place] for place in (2, 3)} == {
        2: s.governors[1].source,
        3: s.governors[1].source,
    }
    assert set(coming(s, a)) == {2, 3, 4}


def test_governors_of_the_machine_where_it_is_do_not_wait() -> None:
    s = scene(1)
    for _ in range(5):
        s.governors.append(s.world.governor())
    a, _ = spread(s, machines=0, size=LARGE)
    readers = [s.draft.task(a)[0] for _ in range(5)]
    s.submit()
    s.plan(*[s.assigning(reader, to=1 + place) for place, reader in enumerate(readers)])
    assert len(coming(s, a)) == 5


def test_a_constant_of_the_server_spreads_in_the_same_way() -> None:
    s = scene()
    for machine in range(5):
        s.governors.append(s.world.governor(host=f"10.0.0.{machine}"))
    constant = s.draft.constant(bytes(TREE_FROM))
    readers = [s.draft.task(constant)[0] for _ in range(5)]
    s.submit()
    s.plan(*[s.assigning(reader, to=place) for place, reader in enumerate(readers)])
    assert list(coming(s, constant).values()) == [SERVER] * SENDS_AT_ONCE
    first, second = coming(s, constant)
    s.governors[first].locate(constant)
    assert coming(s, constant)[second] == SERVER
    assert Counter(coming(s, constant).values()) == {SERVER: 2, s.governors[first].source: 2}


def test_those_who_wait_get_another_source_when_a_reader_leaves() -> None:
    s = scene(1)
    a, _ = spread(s, machines=4, size=LARGE)
    before = set(coming(s, a))
    gone = min(before)
    s.governors[gone].leave()
    del s.governors[gone].coming[a]
    assert len(coming(s, a)) == SENDS_AT_ONCE


def test_after_a_failure_a_busy_holder_is_asked_all_the_same() -> None:
    s = scene(1)
    a, _ = spread(s, machines=4, size=LARGE)
    place = min(coming(s, a))
    s.governors[place].send(Update(unfetched=[a]))
    assert coming(s, a)[place] == s.governors[0].source


def test_nobody_waits_any_more_for_an_object_that_is_gone() -> None:
    s = scene(1)
    a, readers = spread(s, machines=5, size=LARGE)
    assert s.world.state.unsourced
    s.client.unkeep(a)
    for place, reader in enumerate(readers):
        if a in s.governors[1 + place].coming:
            s.take_back(reader)
    s.client.close(session_of(a))
    s.world.turn()
    assert not s.world.state.unsourced


def test_objects_with_the_same_holders_do_not_all_come_from_the_first_of_them() -> None:
    s = scene()
    for machine in range(3):
        s.governors.append(s.world.governor(cpus=8, host=f"10.0.0.{machine}"))
    producers = [s.draft.task(keep=True) for _ in range(8)]
    objects = [outputs[0] for _, outputs in producers]
    readers = [[s.draft.task(one)[0] for one in objects] for _ in range(2)]
    s.submit()
    for producer, _ in producers:
        s.run(producer, on=0, size=LARGE)
    s.plan(*[s.assigning(reader, to=1) for reader in readers[0]])
    for one in objects:
        s.governors[1].locate(one)
    s.plan(*[s.assigning(reader, to=2) for reader in readers[1]])
    senders = Counter(s.governors[2].coming[one].split()[0] for one in objects)
    assert set(senders) == {s.governors[0].source, s.governors[1].source}
    assert max(senders.values()) < len(objects) * 3 / 4
