"""Which nodes of a Dask graph become one task, without a cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from rain.client.for_dask.colours import GROUPS_PER_CPU, MEMBERS_AT_MOST, Key, colour

MUCH = 1_000_000


@st.composite
def graphs(draw: st.DrawFn) -> dict[Key, list[Key]]:
    """What each node reads; nodes are numbers in topological order."""
    size = draw(st.integers(1, 60))
    return {
        node: draw(st.lists(st.integers(0, node - 1), unique=True, max_size=4)) if node else []
        for node in range(size)
    }


def value(node: Key, reads: Sequence[object]) -> object:
    return hash((node, *reads))


def plainly(reads: Mapping[Key, Sequence[Key]]) -> dict[Key, object]:
    made: dict[Key, object] = {}
    for node, read in reads.items():
        made[node] = value(node, [made[one] for one in read])
    return made


def in_groups(
    reads: Mapping[Key, Sequence[Key]], groups: Mapping[Key, Sequence[Key]]
) -> dict[Key, object]:
    """What the groups leave: each begins when all that it reads of others is there."""
    left: dict[Key, object] = {}
    for end, members in groups.items():
        made = {one: left[one] for node in members for one in reads[node] if one not in members}
        for node in members:
            made[node] = value(node, [made[one] for one in reads[node]])
        left[end] = made[end]
    return left


@given(graphs(), st.data())
def test_groups_leave_what_is_wanted_and_it_is_what_the_nodes_make_alone(
    reads: dict[Key, list[Key]], data: st.DataObject
) -> None:
    nodes = st.sampled_from(list(reads))
    wanted = data.draw(st.sets(nodes))
    small = data.draw(st.sets(nodes))
    groups = colour(reads, dict.fromkeys(small, 1), wanted, 1, MUCH)
    left = in_groups(reads, groups)
    expected = plainly(reads)
    assert left == {key: expected[key] for key in left}
    assert wanted <= left.keys()
    assert sorted(map(str, reads)) == sorted(
        str(one) for members in groups.values() for one in members
    )
    assert all(small.issuperset(members) for members in groups.values() if len(members) > 1)


def tree(leaves: int, arity: int) -> dict[Key, list[Key]]:
    level: list[Key] = [("leaf", number) for number in range(leaves)]
    reads: dict[Key, list[Key]] = {leaf: [] for leaf in level}
    depth = 0
    while len(level) > 1:
        depth += 1
        above: list[Key] = []
        for place in range(0, len(level), arity):
            above.append((depth, place))
            reads[above[-1]] = level[place : place + arity]
        level = above
    return reads


def test_a_tree_of_small_nodes_becomes_few_groups_and_all_cpus_have_some() -> None:
    reads = tree(1024, 4)
    groups = colour(reads, dict.fromkeys(reads, 1), [], 2, MUCH)
    leaves = {key for key in reads if reads_depth(key) == "leaf"}
    with_leaves = [one for one in groups.values() if not leaves.isdisjoint(one)]
    assert len(groups) < len(reads) / 10
    assert len(with_leaves) >= GROUPS_PER_CPU * 2
    assert max(map(len, groups.values())) <= MEMBERS_AT_MOST


def test_a_graph_that_is_no_wider_than_the_cluster_stays_as_it_is() -> None:
    reads = tree(64, 4)
    groups = colour(reads, dict.fromkeys(reads, 1), [], 64, MUCH)
    assert all(
        max(Counter(reads_depth(one) for one in members).values()) == 1
        for members in groups.values()
    )


def reads_depth(key: Key) -> object:
    depth, _ = cast("tuple[object, object]", key)
    return depth


def test_too_much_work_stays_apart() -> None:
    reads = tree(1024, 4)
    groups = colour(reads, dict.fromkeys(reads, 10), [], 2, 9)
    assert len(groups) == len(reads)


def test_what_is_read_by_two_groups_ends_its_own() -> None:
    reads: dict[Key, list[Key]] = {"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"]}
    wide: dict[Key, list[Key]] = {
        ("more", number, key): [("more", number, one) for one in read]
        for number in range(40)
        for key, read in reads.items()
    }
    groups = colour(wide, dict.fromkeys(wide, 1), [], 1, MUCH)
    assert {len(members) for members in groups.values()} == {4}  # a diamond has one result
    wanted: list[Key] = [("more", number, "b") for number in range(40)]
    groups = colour(wide, dict.fromkeys(wide, 1), wanted, 1, MUCH)
    assert groups.keys() >= set(wanted)
    assert all(("more", number, "a") in groups for number in range(40))  # b and c read it
