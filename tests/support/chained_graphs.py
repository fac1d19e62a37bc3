"""Random graphs of remote functions (see `chained`)."""

from hypothesis import strategies as st

from tests.support.chained import FUNCTIONS, Node


@st.composite
def graphs(draw: st.DrawFn) -> list[Node]:
    """Mostly chains, since these are what matters."""
    nodes: list[Node] = []
    for place in range(draw(st.integers(1, 10))):
        before = st.integers(0, place - 1)
        often_the_last = st.one_of(st.just((place - 1,)), st.lists(before, max_size=2).map(tuple))
        nodes.append(
            Node(
                draw(st.integers(0, len(FUNCTIONS) - 1)),
                draw(often_the_last) if place else (),
                draw(st.sampled_from([False, False, False, True])),
                draw(st.integers(0, 9)),
                draw(st.sampled_from([False, False, False, True])),
            )
        )
    return nodes
