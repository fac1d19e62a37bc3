"""The end of a random life of a governor: all work that can end ends, and nothing is left of it."""

from rain.base.ids import TaskId, session_of
from rain.governor.core.resources import FreeResources
from tests.governor.world import World


def settle(world: World) -> None:
    """All do their part until all tasks that could end have ended, and sessions are forgotten."""
    for _ in range(500):
        _everybody_works(world)
        if not any(_could_end(world, task) for task in world.assigned):
            break
    stranded = [task for task in world.assigned if _could_end(world, task)]
    assert not stranded
    for session in list(world.reactor.state.sessions):
        world.forget(session)
    for number in list(world.executors):
        if world.executors[number].killed:
            world.die(number, "killed")
        else:
            if world.executors[number].running is not None:
                _answer(world, number)
            world.work(number)
    for run in list(world.runs):
        world.end_run(run)
    _the_cache_works(world)


def check_nothing_is_left(world: World) -> None:
    state = world.reactor.state
    free = state.pool.free
    whole = FreeResources(free.capacity)
    others = {**whole.others, "memory": whole.others["memory"] - free.withheld}
    assert (free.cpus, free.slots, free.others) == (whole.cpus, whole.slots, others)
    assert state.pool.gpus.free == ["0", "1"]
    objects, dispatch = state.objects, state.dispatch
    ended = world.ended_sessions
    assert len(set(ended)) == len(ended)
    left = [
        state.stopping.leaving,
        dispatch.groups,
        dispatch.runs,
        objects.fetches.going,
        objects.lingering.times,
        objects.files.counts,
        objects.caching.asked,
        objects.caching.keeping,
    ]
    assert left == [{}] * len(left)


def _answer(world: World, number: int) -> None:
    """The running call ends, and waits for nothing any more."""
    if world.executors[number].waits:
        world.resume(number)
    world.answer(number)


def _everybody_works(world: World) -> None:
    for number in list(world.executors):
        executor = world.executors.get(number)
        if executor is None:
            continue
        if executor.killed:
            world.die(number, "killed")
        elif not executor.ready:
            world.ready(number)
        elif executor.running is not None:
            _answer(world, number)
            world.work(number)
        else:
            world.work(number)
    for run in list(world.runs):
        world.end_run(run)
    for fetch in list(world.fetches):
        world.fetched(fetch, b"data")
    _the_cache_works(world)
    world.tick(0.03)


def _the_cache_works(world: World) -> None:
    for asked in list(world.look_ups):
        world.miss(asked)
    for number in list(world.keeps):
        world.kept(number)


def _could_end(world: World, task: TaskId) -> bool:
    """Whether no input of it, or of those that make its inputs, is absent."""
    known = world.reactor.state.sessions[session_of(task)]
    node = known.tasks[task]
    for target in node.inputs:
        if target.row.name == "ABSENT":
            return False
        if target.producer is not None and not _could_end(world, target.producer.id):
            return False
    return True
