"""Finds reference cycles: objects with futures inside that claim each other, and that nothing else
claims.

Claims are counted, so that unclaimed objects are removed at once (`claims`). But futures inside of
a result may lead back to it: two results contain the future of each other, or a result contains the
future of a task that has read it. Such objects claim each other forever, in one session or across
several.

When a claim on an object ends, and it stays claimed by results and by lineage alone, it is a
**suspect**. The search goes backwards from a suspect to everything that claims it: to the results
that contain it, and through finished tasks that may run again to their outputs. If anything else
claims one of these, the suspect is **reached**: a handle of a client, a task that has not finished,
the next run of a task, or the name of a durable session. Then the next search is when that claim
ends. If nothing else claims them, everything that was found belongs to cycles, or is claimed only
by cycles.

Every unreachable cycle has a suspect: the object whose last claim from outside has ended. Only
results can close a cycle, because all other claims, and the list of an exchange, lead to older
nodes. A session has no suspects if nothing in it has futures inside, and no other session uses its
objects.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from attrs import Factory, define

from rain.graph import references
from rain.graph.data_object import DataObject
from rain.graph.exchanges import is_exchange
from rain.graph.graph import Graph

Claims = dict[DataObject, DataObject]
"""The objects that lead to a suspect, each with the object that it claims."""


def suspect(graph: Graph, data_object: DataObject) -> None:
    """A claim on this object has ended, and perhaps only a cycle claims it now."""
    if data_object.session.may_have_circles and not _claimed_from_outside(data_object):
        graph.suspects[data_object] = None


def cut(graph: Graph, most: int) -> tuple[list[DataObject], int]:
    """Examines suspects, and breaks unreachable cycles.

    Returns the objects that are not needed any more, and how many claims were visited: at most
    `most`. Other suspects wait for the next search. Suspects with too many claims for one search go
    to the end.
    """
    look = _Look(most)
    free: list[DataObject] = []
    too_many: Claims = {}
    suspects, graph.suspects = graph.suspects, {}
    remaining = iter(suspects)
    for one in remaining:
        claims = look.all_claims(one)
        if look.is_over:
            too_many = claims
            break
        for found in claims:
            if found in found.session.contents and not is_exchange(found.producer):
                free += references.let_go(found)
    graph.suspects = {one: None for one in remaining if one not in too_many}
    graph.suspects |= {one: None for one in too_many if one in suspects}
    return free, look.looked_at


@define
class _Look:
    """One search: examines suspects, up to a number of claims."""

    most: int
    looked_at: int = 0
    reached: dict[DataObject, None] = Factory(dict)

    @property
    def is_over(self) -> bool:
        return self.looked_at >= self.most

    def all_claims(self, suspect: DataObject) -> Claims:
        """Everything that leads to the suspect; None if it is claimed from outside."""
        self.looked_at += 1
        if suspect in self.reached or _claimed_from_outside(suspect):
            return {}
        claims = {suspect: suspect}
        pending = [suspect]
        while pending:
            one = pending.pop()
            for claimer in _claimers(one):
                self.looked_at += 1
                if claimer in claims:
                    continue
                claims[claimer] = one
                if claimer in self.reached or _claimed_from_outside(claimer):
                    self._note_reached(claimer, claims)
                    return {}
                pending.append(claimer)
                if self.is_over:
                    return claims
        return claims

    def _note_reached(self, one: DataObject, claims: Claims) -> None:
        """And so is what it claims, down to the suspect."""
        self.reached[one] = None
        while claims[one] is not one:
            one = claims[one]
            self.reached[one] = None


def _claimed_from_outside(data_object: DataObject) -> bool:
    """Whether anything but results and lineage claims the object."""
    in_results = data_object.session.in_results.get(data_object, ())
    return data_object.handles.wants_data or data_object.needed_by > len(in_results)


def _claimers(data_object: DataObject) -> Iterator[DataObject]:
    """The results that contain it, and those that may have to be made again from it."""
    session = data_object.session
    yield from session.in_results.get(data_object, ())
    if data_object.remade_by:
        for task in chain(data_object.consumers, session.in_arguments.get(data_object, ())):
            if task.may_run_again:
                for output in task.outputs:
                    if output.may_have_to_be_made:
                        yield output
