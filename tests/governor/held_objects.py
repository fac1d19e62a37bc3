"""Which objects a governor of the tests holds, and how one gets there."""

from rain.base.ids import ObjectId, session_of
from rain.governor.core.results import Made
from rain.governor.core.tables import ObjectRow
from tests.governor.words import builtin_kind, object_id
from tests.governor.world import World


def located(world: World) -> list[ObjectId]:
    return [one for update in world.updates for one in update.located]


def row_of(world: World, number: int) -> ObjectRow:
    session = world.reactor.state.sessions.get(session_of(object_id(number)))
    target = None if session is None else session.objects.get(object_id(number))
    return ObjectRow.GONE if target is None else target.row


def content(world: World, number: int) -> bytes | int | None:
    target = world.reactor.find(object_id(number))
    return None if target is None else target.content


def make(world: World, number: int, made: bytes | Made, inputs: tuple[int, ...] = ()) -> None:
    """An object that a task made here."""
    world.assign(builtin_kind(), number + 1000, inputs, (number,))
    (run,) = world.runs
    world.end_run(run, [made])
