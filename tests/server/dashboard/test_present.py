"""What the living graph says, and why a task is not further."""

from __future__ import annotations

from typing import Any

import pytest

from rain.base.failures import OnFailure
from rain.base.ids import spell, unpack
from rain.base.wire.update import Monitoring, Update
from rain.server.dashboard import present
from rain.server.dashboard.present import objects_now, task_now
from tests.support.scenes import scene
from tests.support.world import World, new_world


def now(world: World, task: int) -> dict[str, Any]:
    found = task_now(world.state, *unpack(task))
    assert found is not None
    return found


def test_it_says_why_each_task_is_where_it_is() -> None:
    world = new_world()
    client = world.client()
    draft = client.session()
    first, (made,) = draft.task()
    second, _ = draft.task(made)
    client.submit(draft)
    assert now(world, first)["why"] == "There is no governor."
    assert now(world, second)["why"].startswith("1 of its 1 inputs are not finished: 1/")
    assert "of work 1/" in now(world, second)["why"]

    governor = world.governor(cpus=1)
    assert "was told to run it" in now(world, first)["why"]
    governor.start(first)
    assert "It runs on 127.0.0.1:9001 for" in now(world, first)["why"]
    governor.finish(first)
    assert now(world, first)["why"] == "It has finished on 127.0.0.1:9001."


def test_it_says_of_what_went_ahead_and_of_what_will_never_run_why() -> None:
    s = scene(1, on_failure=OnFailure.CONTINUE)
    first, (made,) = s.draft.task()
    second, _ = s.draft.task(made)
    s.submit()
    s.assign(first, second)
    assert now(s.world, second)["why"].startswith("It was sent ahead to 127.0.0.1:")
    s.governors[0].fail(first)
    assert now(s.world, first)["why"].startswith("It has failed on 127.0.0.1:")
    assert now(s.world, second)["why"].startswith("It will never run")


def test_it_says_which_inputs_are_on_the_way_and_which_of_them_through_the_server() -> None:
    s = scene(1, 1)
    here, there = s.governors
    makes_near, (near,) = s.draft.task()
    makes_far, (far,) = s.draft.task()
    reader, _ = s.draft.task(near, far)
    s.submit()
    s.run(makes_near, on=0)
    s.run(makes_far, on=1)
    s.assign(reader, to=0)
    why = f"{here.address} was told to run it and has not said yet that it has started."
    way = f"{why} 1 of its 2 inputs is on the way there."
    assert now(s.world, reader)["why"] == way

    def told(*closed: tuple[str, str]) -> None:
        here.send(Update(monitoring=[Monitoring((), 0, (), (), (), closed_ways=closed)]))

    told((there.address, "Connection refused"))
    assert now(s.world, reader)["why"] == (
        f"{way} {spell(far)} comes through the server, since {here.address} cannot connect to"
        f" {there.address}: Connection refused."
    )
    told()
    assert now(s.world, reader)["why"] == way
    here.locate(far)
    assert now(s.world, reader)["why"] == why


def test_it_says_that_no_governor_has_what_a_task_needs() -> None:
    world = new_world()
    world.governor(cpus=2)
    client = world.client()
    draft = client.session()
    task, _ = draft.task(cpus=8)
    client.submit(draft)

    why = now(world, task)["why"]

    assert why == "It needs cpus=8, which the only governor does not have."


def test_it_names_only_some_of_many_missing_inputs() -> None:
    world = new_world()
    client = world.client()
    draft = client.session()
    made = [draft.task()[1][0] for _ in range(9)]
    task, _ = draft.task(*made)
    client.submit(draft)

    why = now(world, task)["why"]

    assert why.startswith("9 of its 9 inputs are not finished")
    assert why.count("of work") == 5
    assert "and 4 more" in why


def test_objects_of_an_open_session_tell_size_and_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(present, "MOST_OBJECTS", 2)
    world = new_world()
    governor, client = world.governor(), world.client()
    draft = client.session()
    constant = draft.constant(b"12345", keep=True)
    task, (made,) = draft.task(constant, keep=True)
    draft.task(made)
    client.submit(draft)
    governor.finish(task)

    found = objects_now(world.state, draft.session, 0)

    assert found is not None
    assert found["total"] == 3
    first, second = found["objects"]
    assert (first["id"], first["size"], first["kept"], first["on_server"]) == (
        [*unpack(constant)],
        5,
        True,
        True,
    )
    assert second["producer"] == unpack(task).id
    assert second["where"] == [governor.address]
    assert second["needed_by"] == 1
    assert first["claims"] == ["client 1 keeps it", "1 task may have to read it again"]
    assert second["claims"] == ["client 1 keeps it", "1 task will read it"]


def test_what_is_not_in_the_graph_is_not_told() -> None:
    world = new_world()
    assert task_now(world.state, 1, 10) is None
    assert objects_now(world.state, 1, 0) is None


def test_every_run_of_a_task_is_told_with_where_when_and_why() -> None:
    s = scene(1, 1)
    task, _ = s.draft.task(tries=2)
    s.submit()
    s.assign(task)
    s.take_back(task)
    s.assign(task)
    s.governors[0].start(task)
    s.governors[0].fail(task, "why")
    s.assign(task, to=1)
    here, there = s.governors[0].address, s.governors[1].address

    runs = now(s.world, task)["runs"]

    told = [(run["number"], run["governor"], run["state"], run["cause"]) for run in runs]
    assert told == [
        (1, here, "withdrawn", "taken back"),
        (2, here, "failed", "task"),
        (3, there, "told", ""),
    ]
    assert [run["error"] for run in runs] == ["", "why", ""]
    assert [run["seconds"] for run in runs] == [None, 1.0, None]
    assert runs[1]["started"] == runs[1]["told"] + 1.0
