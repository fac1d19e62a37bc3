"""Circles: objects with futures inside that claim each other, and that nothing else claims.

Claims are counted, so that unclaimed objects go at once (`claims`). But futures inside of a result
may lead back to it: two results have the future of each other inside, or a result has that of a
task which has read it. These claim each other for ever. If their sessions have clients, they end
with the sessions. In sessions whose clients have left (rain/server/core/closing.py) they would
stay, so these sessions are searched.

A search goes from each container backwards to everything that claims it: to other containers, and
through finished tasks that may run again to the outputs for whose sake they would. A node that is
claimed by anything else is **reached**: by a client, by a task that has not finished, by a session
that has a client. So are all nodes that it claims. The rest are circles, and nodes claimed by them.

Only results can close a circle: all other claims lead to older nodes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from rain.graph import references
from rain.graph.data_object import DataObject
from rain.graph.exchanges import is_exchange
from rain.graph.session import Session
from rain.graph.task import Task

Containers = dict[DataObject, list[references.Holder]]
"""What contains each object, in the sessions that are looked through."""


def unreached(left: Collection[Session], most: int) -> tuple[list[DataObject], int]:
    """The containers in these sessions that are not reached, and how many nodes were looked at.

    None are found if there are more than `most` nodes to look at.
    """
    containers, looked_at = _containers(left), sum(len(one.contents) for one in left)
    pending = [one for session in left for one in session.contents if isinstance(one, DataObject)]
    leads_to: dict[DataObject, list[DataObject]] = {one: [] for one in pending}
    reached: dict[DataObject, None] = {}
    while pending:
        one = pending.pop()
        claimers, claims = _inner_claims(one, containers)
        looked_at += 1 + claims
        if looked_at > most:
            return [], looked_at
        if one.handles.wants_data or one.needed_by + one.remade_by > claims:
            reached[one] = None
        for claimer in claimers:
            if claimer not in leads_to:
                leads_to[claimer] = []
                pending.append(claimer)
            leads_to[claimer].append(one)
    pending = list(reached)
    while pending:
        for one in leads_to[pending.pop()]:
            if one not in reached:
                reached[one] = None
                pending.append(one)
    return [one for one in leads_to if one not in reached and _may_close(one)], looked_at


def cut(unreached_ones: Iterable[DataObject]) -> list[DataObject]:
    """They contain nothing any more; returns what is not needed any more."""
    return [free for one in unreached_ones for free in references.let_go(one)]


def _containers(left: Iterable[Session]) -> Containers:
    found: Containers = {}
    for session in left:
        for holder, inside in session.contents.items():
            for one in inside:
                found.setdefault(one, []).append(holder)
    return found


def _inner_claims(
    data_object: DataObject, containers: Containers
) -> tuple[dict[DataObject, None], int]:
    """The objects that it is claimed for in sessions that were left, and how many claims these are.

    A task that has not finished will run in any case, so its claims count as others.
    """
    found: dict[DataObject, None] = {}
    count = 0
    for holder in containers.get(data_object, ()):
        if isinstance(holder, DataObject):
            found[holder] = None
            count += 1
        elif holder.may_run_again:
            found.update(_wanted(holder))
            count += 1
    for task in data_object.consumers:
        if task.may_run_again and task.session.is_left:
            found.update(_wanted(task))
            count += 1
    return found, count


def _wanted(task: Task) -> dict[DataObject, None]:
    """The outputs for the sake of which a finished task may run again."""
    return dict.fromkeys([output for output in task.outputs if output.may_have_to_be_made])


def _may_close(data_object: DataObject) -> bool:
    """Whether a circle can be cut here. The list of an exchange names what was there before it."""
    return data_object in data_object.session.contents and not is_exchange(data_object.producer)
