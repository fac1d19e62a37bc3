"""The part of the checker about claims: whatever lives has a reason, and every reason is alive."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet

from rain.base.states import TaskRow
from rain.graph.claims import claims_on
from rain.graph.data_object import DataObject
from rain.graph.graph import Graph
from rain.graph.handles import NOBODY
from rain.graph.leaving import may_go
from rain.graph.session import Session
from rain.graph.task import Task

Expect = Callable[[bool, str], None]


def check_task(
    graph: Graph,
    task: Task,
    unneeded: AbstractSet[DataObject],
    leaving: AbstractSet[Task | DataObject],
    expect: Expect,
) -> None:
    """Its handles, whether it leaves without any, and what it claims of its lineage."""
    _check_handles(graph, task, expect)
    stays = not may_go(task) or not leaving.isdisjoint((task, *task.outputs))
    expect(stays, "nobody needs it or has a handle of it, and it does not leave")
    needed = [output for output in task.outputs if output.may_have_to_be_made]
    may_run_again = task.row is TaskRow.FINISHED and bool(task.inputs) and bool(needed)
    expect(task.may_run_again or not may_run_again, f"it must be able to make {needed} again")
    late = task.row is TaskRow.FINISHED and any(output in unneeded for output in task.outputs)
    expect(may_run_again or late or not task.may_run_again, "nobody will ask it to run again")


def check_object(
    graph: Graph,
    data_object: DataObject,
    unneeded: AbstractSet[DataObject],
    leaving: AbstractSet[Task | DataObject],
    expect: Expect,
) -> None:
    """Who claims it is there, and it goes if nobody does."""
    _check_handles(graph, data_object, expect)
    needed_by = sum(not task.is_done for task in data_object.consumers)
    expect(needed_by == data_object.needed_by, f"{needed_by} consumers, {data_object.needed_by}")
    remade_by = sum(task.may_run_again for task in data_object.consumers)
    expect(remade_by == data_object.remade_by, f"{remade_by} may read it again")
    claims = claims_on(data_object)
    holds_data = any(claim.holds_data for claim in claims)
    expect(holds_data == data_object.is_needed, f"needed {data_object.is_needed}, but {claims}")
    for claim in claims:
        expect(claim.count > 0, f"{claim} counts nothing")
    expect(
        not data_object.is_finished or holds_data or data_object in unneeded,
        "finished and not needed, but neither removed nor about to be",
    )
    if data_object.producer is None and may_go(data_object):
        expect(data_object in leaving, "nobody needs it or has a handle of it, and it stays")


def check_members(graph: Graph, session: Session, expect: Expect) -> None:
    """Those who take part are there, and know what they have handles of."""
    owner = session.owner
    expect(session.members.get(session.client.id) is owner, "its client does not take part in it")
    for client_id, member in session.members.items():
        expect(client_id in graph.clients, f"the client {client_id} that joined it has left")
        expect(member.client == client_id, f"{member} is listed as {client_id}")
        expect(member.is_owner == (member is owner), f"whether {member} is its owner")
        expect(not member.is_owner or not member.nodes, f"{member} lists what it has handles of")
        for node in member.nodes:
            expect(node.is_known, f"{member} has a handle of {node}, which has gone")
            expect(node.handles.of(client_id) is not None, f"{member} has none of {node}")
    for data_object in session.undelivered:
        expect(data_object.handles.wanted_by(owner.client), f"{owner} does not want {data_object}")


def _check_handles(graph: Graph, node: Task | DataObject, expect: Expect) -> None:
    handles = node.handles
    members = {
        member.client: member for session, member in graph.departed if session is node.session
    }
    members |= node.session.members
    expect(bool(handles.each) == (handles is not NOBODY), "a second value says that nobody has it")
    wanted = [handle.wants_data for handle in handles.each]
    expect(any(wanted) == handles.wants_data, f"of its handles {wanted} want its data")
    holders = [handle.client for handle in handles.each]
    expect(len(set(holders)) == len(holders), "a client has two entries of handles")
    for client in holders:
        member = members.get(client)
        expect(member is not None, f"the client {client} has a handle, and takes no part")
        lists = member is None or member.is_owner or node in member.nodes
        expect(lists, f"{member} does not list its handle")
