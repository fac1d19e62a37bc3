"""Counts the handles that clients have of tasks and data objects, client by client.

Nodes with the same handles share one value. For most nodes, only the client that has submitted them
has a handle; these share one value per client, and need no extra memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define, field, frozen

from rain.base.ids import ClientId

if TYPE_CHECKING:
    from rain.graph.data_object import DataObject
    from rain.graph.task import Task


@frozen(eq=False)
class Handle:
    """The handles of one client on one node."""

    client: ClientId
    times: int = 1  # how many handles of this client the server was told of
    wants_data: bool = False  # whether the client has kept the object, so that it can be fetched


@frozen(eq=False)
class Handles:
    """All handles of a node, one entry for each client that has any."""

    each: tuple[Handle, ...] = ()
    wants_data: bool = False  # whether one of these clients does

    def of(self, client: ClientId) -> Handle | None:
        """The handle of this client."""
        for handle in self.each:
            if handle.client == client:
                return handle
        return None

    def wanted_by(self, client: ClientId) -> bool:
        """Whether this client wants the data."""
        handle = self.of(client)
        return handle is not None and handle.wants_data

    def one_more(self, member: Member, *, wants_data: bool) -> Handles:
        """This client has one more handle."""
        handle = self.of(member.client)
        if handle is None:
            return self._with(member, 1, wants_data)
        return self._with(member, handle.times + 1, wants_data or handle.wants_data)

    def one_less(self, member: Member) -> Handles:
        """This client has one handle less; without any it wants no data either."""
        handle = self.of(member.client)
        if handle is None:
            return self
        return self._with(member, handle.times - 1, handle.wants_data)

    def without_data(self, member: Member) -> Handles:
        """Without the wish for data: this client keeps its handles."""
        handle = self.of(member.client)
        if handle is None or not handle.wants_data:
            return self
        return self._with(member, handle.times, wants_data=False)

    def without(self, member: Member) -> Handles:
        """This client has no handle any more."""
        return self if self.of(member.client) is None else self._with(member, 0, wants_data=False)

    def _with(self, member: Member, times: int, wants_data: bool) -> Handles:
        others = tuple([handle for handle in self.each if handle.client != member.client])
        if times:
            if times == 1 and not others:
                return member.keeping if wants_data else member.holding
            others += (Handle(member.client, times, wants_data),)
        elif not others:
            return NOBODY
        return Handles(others, any(handle.wants_data for handle in others))


NOBODY = Handles()
"""The only value without an entry."""


@define(eq=False)
class Member:
    """A client in a session: the one that has opened it, one that has joined it, or a visitor.

    A visitor has something of it that it was given as a future, also after the owner has gone.
    """

    client: ClientId
    is_owner: bool = False
    is_visitor: bool = False
    depth: int = 0  # of what it submits: how many tasks that is inside of
    # Those of which it has handles; not for the owner, whose handles end with the session.
    nodes: dict[Task | DataObject, None] = field(factory=dict, repr=False)
    # A single handle of its own, without and with the wish for data, for nodes to share.
    holding: Handles = field(init=False, default=NOBODY, repr=False)
    keeping: Handles = field(init=False, default=NOBODY, repr=False)

    def __attrs_post_init__(self) -> None:
        self.holding = Handles((Handle(self.client),))
        self.keeping = Handles((Handle(self.client, wants_data=True),), wants_data=True)
