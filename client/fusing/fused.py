"""Fusing: straight chains of remote functions in a submission become one task each.

This module carries out the plan of `chains` on a submission before it is sent. It changes nothing
that a refusal of the submission would have to undo.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TypeAlias

from rain.base.errors import InvariantError
from rain.client.data import DataObject
from rain.client.fusing.chains import OUTSIDE, Chain, ChainGraph, plan_chains, wrong_with
from rain.client.fusing.inside import UnitForms, stand_in
from rain.client.shapes import TaskShape
from rain.client.submission import Batch
from rain.client.task import Task
from rain.client.task_parts import PYTHON_TASK
from rain.client.unit import Unit
from rain.common.sameness import FUNCTION

MEMBERS_AT_MOST = 10_000
CONFIGS_AT_MOST = 1024 * 1024
"""Members of a unit, and bytes of their arguments: a longer chain becomes several units, since a
unit is tried again as a whole, and is in one message."""

Units: TypeAlias = list[tuple[Unit, list[Task]]]
"""Units with their members."""

_NOTHING = ()
_OUTSIDE = (OUTSIDE,)


def fused(batch: Batch, *, check: bool = False) -> tuple[Batch, Units]:
    """A batch with the same work in fewer tasks; with `check` the plan is verified."""
    tasks = batch.tasks
    links = _links(batch)
    chains = plan_chains(links)
    if check and (wrong := wrong_with(links, chains)):
        raise InvariantError(f"a plan for units is wrong: {wrong}")
    if not chains:
        return batch, []
    sent: list[Task | None] = list(tasks)
    units: Units = []
    inside: set[int] = set()
    forms = UnitForms()
    for chain in chains:
        for piece in _pieces(chain, tasks):
            members = [tasks[place] for place in piece]
            unit, sent[piece[-1]] = stand_in(members, forms)
            units.append((unit, members))
            for place in piece[:-1]:
                sent[place] = None
                inside.add(tasks[place].output_objects[0].packed_id)
    objects = [obj for obj in batch.objects if obj.packed_id not in inside]
    contents = _contents(batch, units)
    tasks = [task for task in sent if task is not None]
    return Batch(tasks, objects, contents, batch.keys), units


def _contents(batch: Batch, units: Units) -> Mapping[int, Sequence[DataObject]]:
    """The contents of the members are contents of their unit, which has the id of the last one."""
    contents = dict(batch.contents)
    for _, members in units:
        inside = [one for member in members for one in contents.pop(member.packed_id, ())]
        if inside:
            contents[members[-1].packed_id] = inside
    return contents


def _links(batch: Batch) -> ChainGraph:
    """The tasks as the planner sees them. Constants and functions are there already."""
    makers: dict[int, int] = {}
    stays: list[bool] = []
    for place, task in enumerate(batch.tasks):
        outputs = task.output_objects
        changed = task.given_spec is not None
        for obj in outputs:
            makers[obj.packed_id] = place
            if obj.given_spec is not None:
                changed = True
        if changed:
            task.settle()
        stays.append(len(outputs) != 1 or outputs[0].kept)
    for obj in batch.objects:
        if obj.constant is not None:
            makers[obj.packed_id] = _THERE
    reads: list[Sequence[int]] = []
    alike: list[Hashable | None] = []
    last: TaskShape | None = None
    key: Hashable | None = None
    for task in batch.tasks:
        shape, inputs = task.wire_shape, task.input_objects
        if shape is not last:
            key = (
                shape.resources,
                shape.constraints,
                shape.attempts,
                shape.priority,
                shape.idempotent,
            )
            last = shape
        # The process of a unit has no environment, so tasks with one are never fused.
        if _calls_function(task) and not (shape.cache or shape.environment):
            # A timeout is for one call: what a unit of them may take is known to nobody.
            alike.append(None if shape.attempts.timeout else key)
            inputs = inputs[1:]
        else:
            alike.append(None)
        reads.append(_read(inputs, makers) if inputs else _NOTHING)
    return ChainGraph(reads, stays, alike)


_THERE = -4  # stands among the makers for what is there already


def _read(inputs: Sequence[DataObject], makers: dict[int, int]) -> Sequence[int]:
    if len(inputs) == 1:  # as in chains
        maker = makers.get(inputs[0].packed_id, OUTSIDE)
        if maker == _THERE:
            return _NOTHING
        return _OUTSIDE if maker == OUTSIDE else (maker,)
    found = [makers.get(obj.packed_id, OUTSIDE) for obj in inputs]
    return [maker for maker in found if maker != _THERE]


def _calls_function(task: Task) -> bool:
    """Whether the task calls a remote function, which is then its first input."""
    inputs = task.input_objects
    return (
        type(task) is Task
        and task.wire_shape.task_type == PYTHON_TASK
        and len(inputs) > 0
        and inputs[0].wire_shape.content_type == FUNCTION
    )


def _pieces(chain: Chain, tasks: Sequence[Task]) -> Iterator[Chain]:
    """A chain, cut where it is too long or too large for one unit; a piece of one is none."""
    piece: Chain = []
    size = 0
    for place in chain:
        more = len(tasks[place].wire_config)
        if piece and (len(piece) >= MEMBERS_AT_MOST or size + more > CONFIGS_AT_MOST):
            if len(piece) > 1:
                yield piece
            piece, size = [], 0
        piece.append(place)
        size += more
    if len(piece) > 1:
        yield piece
