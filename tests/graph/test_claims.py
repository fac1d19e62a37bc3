"""Claims: whose handles a node has, and what is said of why it lives."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from rain.base.ids import ClientId
from rain.graph.claims import Claim, Why, claims_on
from rain.graph.handles import NOBODY, Handles, Member
from tests.graph.subject import Subject

MEMBERS = [Member(ClientId(number)) for number in (1, 2, 3)]

STEPS = st.tuples(
    st.sampled_from(MEMBERS), st.sampled_from(["more", "keep", "less", "unkeep", "leave"])
)


def taken(handles: Handles, member: Member, step: str) -> Handles:
    match step:
        case "more" | "keep":
            return handles.one_more(member, wants_data=step == "keep")
        case "less":
            return handles.one_less(member)
        case "unkeep":
            return handles.without_data(member)
        case _:
            return handles.without(member)


@given(st.lists(STEPS, max_size=20))
def test_handles_are_counted_client_by_client(steps: list[tuple[Member, str]]) -> None:
    handles, times, keepers = NOBODY, Counter[ClientId](), set[ClientId]()
    for member, step in steps:
        before = handles.each
        changed = taken(handles, member, step)
        assert handles.each is before, "who shares it sees nothing of the change"
        handles = changed
        client = member.client
        if step in ("more", "keep"):
            times[client] += 1
        elif step == "less" and times[client]:
            times[client] -= 1
        elif step == "leave":
            times[client] = 0
        if step == "keep":
            keepers.add(client)
        elif step == "unkeep" or not times[client]:
            keepers.discard(client)

        there = {handle.client: handle for handle in handles.each}
        assert {one: handle.times for one, handle in there.items()} == dict(+times)
        assert {one for one, handle in there.items() if handle.wants_data} == keepers
        assert handles.wants_data == bool(keepers)
        assert (handles is NOBODY) == (not there)
        for one in MEMBERS:
            assert handles.wanted_by(one.client) == (one.client in keepers)


def test_a_single_handle_costs_no_memory_of_its_own() -> None:
    one = MEMBERS[0]
    assert NOBODY.one_more(one, wants_data=True) is one.keeping
    assert one.keeping.without_data(one) is one.holding
    assert one.holding.without(MEMBERS[1]) is one.holding


def test_every_reason_why_an_object_lives_is_told() -> None:
    subject = Subject()
    owner, guest = subject.session.client.id, subject.guest.client
    # It is kept, a guest has a handle of it, and a running task reads it.
    assert claims_on(subject.held) == [
        Claim(Why.HANDLE, 1, holds_data=True, client=owner),
        Claim(Why.HANDLE, 1, holds_data=False, client=guest),
        Claim(Why.READERS, 1, holds_data=True),
    ]
    # It was removed, and can be asked for.
    assert claims_on(subject.removed) == [Claim(Why.HANDLE, 1, holds_data=False, client=owner)]


def test_lineage_holds_the_data_that_only_the_server_has() -> None:
    subject = Subject()
    subject.small.handles = NOBODY
    subject.small.remade_by = 3
    assert claims_on(subject.small) == [Claim(Why.LINEAGE, 3, holds_data=True)]
    subject.held.handles, subject.held.needed_by, subject.held.remade_by = NOBODY, 0, 3
    assert claims_on(subject.held) == [Claim(Why.LINEAGE, 3, holds_data=False)]
