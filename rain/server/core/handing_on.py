"""Tasks that pass their rest on (`then`): the function has ended and named a task that it has
submitted, which makes the result in its place.

From then on the task stands in for the others. Until they have finished it counts as unfinished,
takes no process and no cpus, and fails or is cancelled with them.
"""

from __future__ import annotations

from attrs import evolve

from rain.base.ids import ObjectId, spell
from rain.base.kinds import ObjectKind
from rain.base.runs import RunCause
from rain.base.states import ObjectState
from rain.base.wire.update import TaskFailure
from rain.graph import DataObject, Governor, Task, planning, references
from rain.graph.run import Ending
from rain.graph.standing_in import depends_on, followers, origins, stand_in
from rain.server.core import failing
from rain.server.core.state import State


def handed_on(
    state: State, governor: Governor, task: Task, failure: TaskFailure, printed: str
) -> None:
    """The open run of a task has ended, and says who makes the outputs of the task."""
    objects, trouble = _what_is_there(state, task, failure.handed_on)
    if trouble:
        failing.run_failed(state, governor, task, evolve(failure, message=trouble), printed)
        return
    state.touched[governor] = None
    for stopped in planning.recall_followers(task, state.now):
        state.stop(*stopped)
    planning.hand_on(task, state.now)
    state.forget_outputs(governor, task)
    waiting = followers(task)
    _pass_on(state, task, objects)
    for follower in waiting:
        if follower.scheduled is not None:
            ending = Ending(state.now, RunCause.INPUT_LOST)
            for stopped in planning.take_back(follower, ending):
                state.stop(*stopped)
        _pass_on(state, follower, origins(follower.inputs))


def _pass_on(state: State, task: Task, objects: tuple[DataObject, ...]) -> None:
    state.release_soon(stand_in(state.graph, task, objects))
    state.news.unplanned[task] = None
    failing.skip_hopeless(state, [task])


def _what_is_there(
    state: State, task: Task, ids: tuple[ObjectId, ...]
) -> tuple[tuple[DataObject, ...], str]:
    """The objects that the task will pass on, or why it cannot."""
    if len(ids) != len(task.outputs):
        return (), f"the task has {len(task.outputs)} outputs, and hands on {len(ids)}"
    found: list[DataObject] = []
    for object_id, output in zip(ids, task.outputs, strict=True):
        one = state.graph.objects.get(object_id)
        if (
            one is None
            or one.state is ObjectState.REMOVED
            or not references.can_be_had(one, task.session)
        ):
            return (), f"the task passes on {spell(object_id)}, which is not there any more"
        if one.kind.data_type is not output.kind.data_type or (
            output.kind.content_type not in {"", one.kind.content_type}
        ):
            expected, given = output.kind, one.kind
            return (), (
                f"the task makes {_described(expected)}, and hands on to one that makes"
                f" {_described(given)}"
            )
        found.append(one)
    objects = origins(found)
    if depends_on(objects, task):
        return (), "the task passes on the result of a task that needs its own result"
    return objects, ""


def _described(kind: ObjectKind) -> str:
    declared = f"the content type {kind.content_type!r}" if kind.content_type else "no content type"
    return f"a {kind.data_type.value} with {declared}"
