"""Tasks whose outputs a cache may have."""

from rain.base.caching import TAKEN
from rain.base.kinds import TaskKind
from rain.base.resources import Resources
from rain.governor.core.results import Failed, Made, PassedOn, Stored
from tests.governor.words import builtin_kind, object_id, python_kind, task_id
from tests.governor.world import World, stored

CACHED = python_kind(cache="own")


def asked(world: World, kind: TaskKind = CACHED, number: int = 101) -> int:
    """A task that reads the object 1 is assigned; under which number the cache is asked for it."""
    world.place(1, b"data")
    world.assign(kind, number, (1,), tuple(number + 100 + i for i in range(len(kind.outputs))))
    (look_up,) = world.look_ups
    return look_up


def whys(world: World) -> dict[int, str]:
    return {note.task: note.cache for update in world.updates for note in update.task_notes}


def test_the_cache_is_asked_with_the_inputs_and_no_executor_is_started() -> None:
    world = World()
    look_up = asked(world)
    (given,) = world.look_ups[look_up].inputs
    assert given.content == b"data"
    assert not world.executors


def test_what_the_cache_has_does_not_run() -> None:
    world = World()
    world.hit(asked(world), [b"kept"])
    assert world.finished == {task_id(101): [b"kept"]}
    assert whys(world) == {task_id(101): TAKEN}
    assert not world.executors
    assert not world.keeps


def test_a_task_waits_for_no_cpu_when_the_cache_has_its_outputs() -> None:
    world = World(Resources(1))
    world.assign(builtin_kind(), 100, (), (200,))
    assert world.runs
    world.hit(asked(world))
    assert task_id(101) in world.finished
    assert world.runs


def test_what_the_cache_does_not_have_runs_and_is_kept() -> None:
    world = World()
    world.miss(asked(world), "ran: argument x changed")
    assert whys(world) == {task_id(101): "ran: argument x changed"}
    world.ready(1)
    world.start_next(1)
    world.answer(1, [b"made"], 0.25)
    world.collect(1)
    ((number, keep),) = world.keeps.items()
    assert keep.seconds == 0.25
    assert [row.content for row in keep.outputs] == [b"made"]
    assert not world.finished
    world.kept(number)
    assert world.finished == {task_id(101): [b"made"]}


def test_its_cpu_is_free_while_its_outputs_are_kept() -> None:
    world = World(Resources(1))
    world.miss(asked(world))
    world.ready(1)
    world.start_next(1)
    world.assign(builtin_kind(), 100, (), (200,))
    assert not world.runs
    world.answer(1)
    world.collect(1)
    assert world.keeps
    assert world.runs


def test_nothing_is_sent_behind_a_task_whose_outputs_are_to_be_kept() -> None:
    world = World()
    orders = world.assign(CACHED, 100, (), (200,), send=False)
    world.assign(python_kind(5), 101, (200,), (201,), orders=orders)
    (look_up,) = world.look_ups
    world.miss(look_up)
    world.ready(1)
    world.start_next(1)
    assert not world.executors[1].unstarted


def test_a_task_that_fails_is_not_kept() -> None:
    world = World()
    world.miss(asked(world))
    world.ready(1)
    world.start_next(1)
    world.answer(1, Failed("wrong"))
    world.collect(1)
    assert task_id(101) in world.failed
    assert not world.keeps


def test_an_output_that_holds_futures_is_not_kept() -> None:
    world = World()
    world.miss(asked(world))
    world.ready(1)
    world.start_next(1)
    world.answer(1, [Made(b"futures", contents=(object_id(1),))])
    world.collect(1)
    assert not world.keeps
    assert task_id(101) in world.finished


def test_what_was_made_is_thrown_away_after_it_was_kept_when_nobody_wants_it_any_more() -> None:
    world = World()
    world.miss(asked(world))
    world.ready(1)
    world.start_next(1)
    world.answer(1, [stored(world)])
    world.collect(1)
    ((number, keep),) = world.keeps.items()
    (row,) = keep.outputs
    world.forget()
    assert row.content in world.files
    world.kept(number)
    assert row.content not in world.files
    assert not world.finished


def test_an_input_that_was_passed_on_is_kept_with_its_content() -> None:
    world = World()
    world.miss(asked(world))
    world.ready(1)
    world.start_next(1)
    world.answer(1, [Made(PassedOn(object_id(1)))])
    world.collect(1)
    (keep,) = world.keeps.values()
    assert [row.content for row in keep.outputs] == [b"data"]


def test_a_task_that_was_stopped_meanwhile_leaves_nothing_of_the_cache_here() -> None:
    world = World()
    look_up = asked(world)
    world.stop(101)
    made = stored(world)
    assert isinstance(made.content, Stored)
    world.hit(look_up, [made])
    assert not world.finished
    assert made.content.file not in world.files


def test_a_task_that_was_stopped_meanwhile_does_not_run() -> None:
    world = World()
    look_up = asked(world)
    world.stop(101)
    world.miss(look_up)
    assert not world.executors
    assert not whys(world)


def test_a_task_with_a_cache_is_not_sent_behind_the_one_that_makes_its_input() -> None:
    world = World()
    orders = world.assign(python_kind(5), 100, (), (200,), send=False)
    world.assign(CACHED, 101, (200,), (201,), orders=orders)
    world.ready(1)
    world.start_next(1)
    assert not world.executors[1].unstarted
    assert not world.look_ups
    world.answer(1)
    world.collect(1)
    assert len(world.look_ups) == 1


def test_a_call_that_is_taken_back_does_not_ask_again() -> None:
    world = World()
    world.miss(asked(world))
    world.ready(1)
    world.die(1)
    assert not world.look_ups
    assert task_id(101) in world.failed or world.executors


def test_a_task_inside_the_governor_is_kept_too() -> None:
    world = World()
    world.miss(asked(world, builtin_kind(cache="own")))
    (run,) = world.runs
    world.end_run(run, [b"made"])
    (keep,) = world.keeps.values()
    assert [row.content for row in keep.outputs] == [b"made"]
