"""Checks claims: every node in the graph has a reason to be there, and every reason is valid."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from rain.base.ids import ClientId
from rain.base.states import TaskRow
from rain.graph.check_references import Contained
from rain.graph.claims import claims_on
from rain.graph.data_object import DataObject
from rain.graph.expect import Expect
from rain.graph.graph import Graph
from rain.graph.handles import NOBODY, Member
from rain.graph.leaving import may_go
from rain.graph.session import Session
from rain.graph.task import Task


def check_task(
    graph: Graph,
    task: Task,
    unneeded: AbstractSet[DataObject],
    leaving: AbstractSet[Task | DataObject],
    expect: Expect,
) -> None:
    """Checks its handles, that it leaves without any, and what it claims of its lineage."""
    _check_handles(graph, task, expect)
    looked_at = not leaving.isdisjoint((task, *task.outputs)) or (
        not unneeded.isdisjoint(task.outputs)
    )
    stays = not may_go(task) or looked_at
    expect(stays, "nobody needs it or has a handle of it, and it does not leave")
    needed = [output for output in task.outputs if output.may_have_to_be_made]
    may_run_again = task.row is TaskRow.FINISHED and bool(task.inputs) and bool(needed)
    expect(task.may_run_again or not may_run_again, "it must be able to make {} again", needed)
    late = task.row is TaskRow.FINISHED and any(output in unneeded for output in task.outputs)
    expect(may_run_again or late or not task.may_run_again, "nobody will ask it to run again")


def check_object(
    graph: Graph,
    data_object: DataObject,
    contained: Contained,
    unneeded: AbstractSet[DataObject],
    leaving: AbstractSet[Task | DataObject],
    expect: Expect,
) -> None:
    """Checks that its claims are valid, and that it is let go without any."""
    _check_handles(graph, data_object, expect)
    needed_by = sum(not task.is_done for task in data_object.consumers)
    needed_by += contained.needed[data_object]
    expect(needed_by == data_object.needed_by, "{} need it, {}", needed_by, data_object.needed_by)
    remade_by = sum(task.may_run_again for task in data_object.consumers)
    remade_by += contained.remade[data_object]
    expect(remade_by == data_object.remade_by, "{} may read it again", remade_by)
    claims = claims_on(data_object)
    holds_data = any(claim.holds_data for claim in claims)
    expect(holds_data == data_object.is_needed, "needed {}, but {}", data_object.is_needed, claims)
    for claim in claims:
        expect(claim.count > 0, "{} counts nothing", claim)
    expect(
        not data_object.is_finished or holds_data or data_object in unneeded,
        "finished and not needed, but neither removed nor about to be",
    )
    if data_object.producer is None and may_go(data_object):
        looked_at = data_object in leaving or data_object in unneeded
        expect(looked_at, "nobody needs it or has a handle of it, and it stays")


def check_members(graph: Graph, session: Session, expect: Expect) -> None:
    """Checks that the members of a session are known, and list the nodes of their handles."""
    owner = session.owner
    there = session.members.get(session.client.id) is owner
    expect(there or session.is_left, "its client does not take part in it")
    expect(not (there and session.is_left), "it is left, and its client takes part in it")
    for client_id, member in session.members.items():
        expect(client_id in graph.clients, "the client {} that joined it has left", client_id)
        expect(member.client == client_id, "{} is listed as {}", member, client_id)
        expect(member.is_owner == (member is owner), "whether {} is its owner", member)
        expect(not member.is_owner or not member.nodes, "{} lists what it has handles of", member)
        for node in member.nodes:
            expect(node.is_known, "{} has a handle of {}, which has gone", member, node)
            expect(node.handles.of(client_id) is not None, "{} has none of {}", member, node)
    for data_object in session.undelivered:
        expect(
            data_object.handles.wanted_by(owner.client), "{} does not want {}", owner, data_object
        )


def _check_handles(graph: Graph, node: Task | DataObject, expect: Expect) -> None:
    handles = node.handles
    expect(bool(handles.each) == (handles is not NOBODY), "a second value says that nobody has it")
    wanted = [handle.wants_data for handle in handles.each]
    expect(any(wanted) == handles.wants_data, "of its handles {} want its data", wanted)
    holders = [handle.client for handle in handles.each]
    expect(len(set(holders)) == len(holders), "a client has two entries of handles")
    for client in holders:
        member = node.session.members.get(client) or _departed(graph, node.session, client)
        expect(member is not None, "the client {} has a handle, and takes no part", client)
        lists = member is None or member.is_owner or node in member.nodes
        expect(lists, "{} does not list its handle", member)


def _departed(graph: Graph, session: Session, client: ClientId) -> Member | None:
    """A member that has left, and whose handles are still being removed."""
    for left, member in reversed(graph.departed):
        if left is session and member.client == client:
            return member
    return None
