"""Test mode (RAIN_TEST_MODE=1): places data objects where the test of a scheduler wants them.

A new object whose user notes hold `"_testing": {"governors": ["host:port", ...], "size": n}` has a
size of n bytes for schedulers, and is forced onto those governors before the scheduler runs: a
constant is copied to them, a task that makes such an output is planned on the first one, and its
output is copied to the others when it is made. Nothing is forced twice; what the scheduler does
afterwards is its own decision.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, TypeGuard

from attrs import frozen

from rain.base.errors import RefusedError
from rain.base.ids import ObjectId, spell
from rain.base.kinds import ObjectKind
from rain.base.states import ObjectState
from rain.base.wire.submission import Submission
from rain.graph import DataObject, Governor, Graph, Session
from rain.scheduler.api import Plan
from rain.server.core import distribution
from rain.server.core.messages import Notice
from rain.server.core.state import State

KEY = "_testing"


@frozen
class Wish:
    """The wishes of a test about an object."""

    governors: tuple[str, ...] = ()  # their addresses
    size: int = 0


def read_wish(kind: ObjectKind) -> Wish | None:
    """Reads the wish of a test for all objects of a kind; RefusedError if it is not valid."""
    notes: Any = json.loads(kind.user) if kind.user else {}
    if KEY not in notes:
        return None
    wanted: Any = notes[KEY]
    if not (_is_table(wanted) and set(wanted) <= {"governors", "size"}):
        raise _misunderstood(kind, wanted)
    governors, size = wanted.get("governors", []), wanted.get("size", 0)
    if not (_are_addresses(governors) and isinstance(size, int) and size >= 0):
        raise _misunderstood(kind, wanted)
    return Wish(tuple(governors), size)


def check(graph: Graph, submission: Submission) -> None:
    """Refuses a submission that wants what cannot be, before anything of it is applied."""
    there = [governor.address for governor in graph.governors.values()]
    for kind in submission.object_kinds:
        wish = read_wish(kind)
        for address in wish.governors if wish is not None else ():
            if address not in there:
                raise RefusedError(
                    f"the data object {kind.label!r} shall be on the governor {address!r}, which is"
                    f" not connected; there are: {', '.join(there) or 'none'}"
                )


def note(state: State, session: Session, submission: Submission) -> None:
    """A submission was applied: its objects get their sizes, and wait to be forced."""
    wishes = {kind.id: read_wish(kind) for kind in session.object_kinds.values()}
    new: Iterable[ObjectId] = (*submission.constants.ids, *submission.tasks.outputs)
    for object_id in new:
        data_object = state.graph.objects[object_id]
        wish = wishes[data_object.kind.id]
        if wish is not None:
            data_object.pretended_size = wish.size
            if wish.governors:
                state.forced[data_object] = wish.governors


def force(state: State) -> None:
    """Puts objects where tests want them, as far as this is possible by now."""
    plan = Plan(state.graph)
    for data_object, addresses in list(state.forced.items()):
        here = [g for g in state.graph.governors.values() if g.address in addresses]
        here.sort(key=lambda governor: addresses.index(governor.address))
        if not data_object.is_known:
            del state.forced[data_object]
        elif data_object.is_finished:
            del state.forced[data_object]
            for governor in here:
                plan.copy(data_object, governor)
        elif data_object.state is ObjectState.REMOVED or data_object.has_failed:
            del state.forced[data_object]
        elif here:
            _force_producer(state, plan, data_object, here[0])
    distribution.apply_plan(state, plan)


def _force_producer(state: State, plan: Plan, output: DataObject, governor: Governor) -> None:
    task = output.producer
    if task is None or task.scheduled is not None or task.run is not None:
        return
    if task.kind.resources.fits(governor.resources):
        plan.assign(task, governor)
    else:
        text = f"the task {spell(task.id)} is not forced onto {governor.address}: it does not fit"
        state.emit(Notice(task.session.id, text))
        del state.forced[output]


def _is_table(value: object) -> TypeGuard[dict[str, object]]:
    return isinstance(value, dict)


def _are_addresses(value: object) -> TypeGuard[list[str]]:
    return _is_list(value) and all(isinstance(entry, str) for entry in value)


def _is_list(value: object) -> TypeGuard[list[object]]:
    return isinstance(value, list)


def _misunderstood(kind: ObjectKind, wanted: object) -> RefusedError:
    return RefusedError(
        f"the data object {kind.label!r} has {KEY} {wanted!r}; in test mode it must be"
        ' {"governors": ["host:port", ...], "size": bytes}'
    )
