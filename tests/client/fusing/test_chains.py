"""Which nodes of a graph may be one unit: the planner by itself."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rain.client.fusing.chains import OUTSIDE, ChainGraph, plan_chains, wrong_with


def links(
    *reads: Sequence[int], stays: Sequence[int] = (), alike: Sequence[str | None] = ()
) -> ChainGraph:
    """A graph by what each node reads, with those nodes whose results stay visible."""
    return ChainGraph(
        reads,
        [node in stays for node in range(len(reads))],
        alike or ["same"] * len(reads),
    )


def planned(graph: ChainGraph) -> list[list[int]]:
    chains = plan_chains(graph)
    assert wrong_with(graph, chains) == ""
    return chains


def test_a_line_is_one_chain() -> None:
    assert planned(links([], [0], [1], [2])) == [[0, 1, 2, 3]]


def test_a_kept_result_may_be_the_last_of_a_chain_and_is_never_inside() -> None:
    assert planned(links([], [0], [1], stays=[1])) == [[0, 1]]
    assert planned(links([], [0], [1], [2], stays=[1])) == [[0, 1], [2, 3]]


def test_what_two_nodes_read_ends_its_chain() -> None:
    assert planned(links([], [0], [1], [1])) == [[0, 1]]


def test_a_node_that_reads_two_others_begins_a_chain() -> None:
    assert planned(links([], [], [0, 1], [2])) == [[2, 3]]


def test_what_one_node_reads_twice_has_one_reader() -> None:
    assert planned(links([], [0, 0], [1])) == [[0, 1, 2]]


def test_a_node_that_reads_an_earlier_graph_may_only_begin_a_chain() -> None:
    assert planned(links([OUTSIDE], [0])) == [[0, 1]]
    assert planned(links([OUTSIDE, OUTSIDE], [0])) == [[0, 1]]
    assert planned(links([], [0, OUTSIDE], [1])) == [[1, 2]]


def test_nodes_that_are_not_alike_are_not_joined() -> None:
    assert planned(links([], [0], [1], [2], alike=["a", "a", "b", "b"])) == [[0, 1], [2, 3]]


def test_a_node_that_may_not_be_fused_stands_between_chains() -> None:
    alike = ["a", "a", None, "a", "a"]
    assert planned(links([], [0], [1], [2], [3], alike=alike)) == [[0, 1], [3, 4]]
    assert planned(links([], [0], alike=[None, None])) == []


def test_the_order_of_the_nodes_does_not_matter() -> None:
    assert planned(links([1], [2], [])) == [[2, 1, 0]]


def test_what_goes_round_is_left_alone() -> None:
    assert planned(links([1], [0])) == []
    assert planned(links([0])) == []
    assert planned(links([2], [0], [1], [])) == []


def test_a_ring_with_a_way_in_is_left_alone() -> None:
    assert planned(links([], [0, 3], [1], [2])) == [[1, 2, 3]]


@pytest.mark.parametrize(
    ("chains", "what"),
    [
        ([[0]], "is no chain"),
        ([[0, 1, 2], [1, 2]], "in a chain before"),
        ([[0, 2]], "may not follow"),
        ([[1, 0]], "may not follow"),
        ([[0, 1]], "could be longer"),
        ([[1, 2]], "could be longer"),
        ([], "could be in a chain"),
    ],
)
def test_a_wrong_plan_is_told(chains: list[list[int]], what: str) -> None:
    assert what in wrong_with(links([], [0], [1]), chains)


def test_a_plan_that_hides_what_is_kept_is_told() -> None:
    assert wrong_with(links([], [0], [1], stays=[1]), [[0, 1, 2]]) == "2 may not follow 1"


@st.composite
def graphs(draw: st.DrawFn) -> ChainGraph:
    count = draw(st.integers(0, 12))
    ring = draw(st.booleans())  # now and then what no submission may be
    reads = [
        draw(st.lists(st.integers(OUTSIDE, (count if ring else node) - 1), max_size=2))
        for node in range(count)
    ]
    order = draw(st.permutations(range(count)))
    moved = {node: place for place, node in enumerate(order)}
    moved[OUTSIDE] = OUTSIDE
    return ChainGraph(
        [[moved[one] for one in reads[node]] for node in order],
        draw(st.lists(st.sampled_from([False, False, True]), min_size=count, max_size=count)),
        draw(st.lists(st.sampled_from(["a", "a", "b", None]), min_size=count, max_size=count)),
    )


@given(graphs())
def test_every_plan_is_right(graph: ChainGraph) -> None:
    assert wrong_with(graph, plan_chains(graph)) == ""


def test_looking_at_a_graph_is_linear() -> None:
    """A line, and a star around one node: neither is looked at more than once for each link."""

    class Read(list[int]):
        looks = 0

        def __iter__(self):  # type: ignore[no-untyped-def] # noqa: ANN204 # that of lists
            Read.looks += 1
            return super().__iter__()

    count = 2000
    line = [Read([node - 1] if node else []) for node in range(count)]
    star = [Read([]), *(Read([0]) for _ in range(count))]
    for graph in (line, star):
        Read.looks = 0
        plan_chains(links(*graph))
        assert Read.looks <= 2 * len(graph)
