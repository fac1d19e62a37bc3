"""Plans which straight chains in a graph become one unit each. Pure: nodes are only numbers here.

A node and its reader are in one chain if the node has no other reader, the reader reads no other
node, the result of the node need not stay visible, and both have the same group, which the caller
gives. The chains are the longest sequences of such pairs, in any order of the nodes. A cycle has no
start and is left alone.

Results inside of a chain are read by nobody else; only the result of its last node may stay
visible.
"""

from collections.abc import Hashable, Sequence
from itertools import pairwise

from attrs import frozen

OUTSIDE = -1
"""Among what a node reads: what no node of this graph makes, and what may not be there yet."""

_NOBODY = -2
_SEVERAL = -3

Chain = list[int]
"""Two nodes or more in the order in which they run."""


@frozen
class ChainGraph:
    """A graph in columns; nodes are their places in them, in any order.

    What a node reads twice is one predecessor, and what is there already is none.
    """

    reads: Sequence[Sequence[int]]  # the nodes whose results each node reads, and OUTSIDE
    stays: Sequence[bool]  # whether what it makes is kept, or is not exactly one result
    alike: Sequence[Hashable | None]  # equal for nodes of one chain; None is never in one


def plan_chains(links: ChainGraph) -> list[Chain]:
    """All chains, as long as they can be, in the order of their first nodes."""
    after = _links_between(links)
    joined = [False] * len(after)
    for reader in after:
        if reader >= 0:
            joined[reader] = True
    chains: list[Chain] = []
    for first, reader in enumerate(after):
        if reader < 0 or joined[first]:
            continue
        chain = [first]
        while reader >= 0:
            chain.append(reader)
            reader = after[reader]  # noqa: PLW2901 # the walk along the chain
        chains.append(chain)
    return chains


def _links_between(links: ChainGraph) -> list[int]:
    """The node that comes behind each node in its chain, or a number below 0."""
    stays, alike = links.stays, links.alike
    readers = [_NOBODY] * len(stays)  # the only reader of each node
    sources = [_NOBODY] * len(stays)  # the only one that each node reads
    for node, read in enumerate(links.reads):
        found = read if len(read) < 2 else set(read)
        for source in found:
            if source != OUTSIDE:
                readers[source] = node if readers[source] == _NOBODY else _SEVERAL
        if len(found) == 1:
            (sources[node],) = found
    after = [_NOBODY] * len(stays)
    for node, source in enumerate(sources):
        if (
            source >= 0
            and readers[source] == node
            and not stays[source]
            and alike[node] is not None
            and alike[source] == alike[node]
        ):
            after[source] = node
    return after


def wrong_with(links: ChainGraph, chains: Sequence[Chain]) -> str:
    """Checks a plan against the same rule, stated for sets: the fault, or "" for none."""
    rule = _Rule(links)
    seen: set[int] = set()
    for chain in chains:
        if len(chain) < 2:
            return f"{chain} is no chain"
        if len(set(chain)) < len(chain) or not seen.isdisjoint(chain):
            return f"{chain} has a node that was in a chain before"
        seen.update(chain)
        for node, behind in pairwise(chain):
            if not rule.joins(node, behind):
                return f"{behind} may not follow {node}"
        if rule.before(chain[0]) is not None or rule.behind(chain[-1]) is not None:
            return f"{chain} could be longer"
    for node in range(len(links.stays)):
        if node not in seen and rule.behind(node) is not None and not rule.goes_round(node):
            return f"{node} could be in a chain"
    return ""


class _Rule:
    """Which node may follow which one, counted anew each time."""

    def __init__(self, links: ChainGraph) -> None:
        self._links = links
        self._reads = [set(read) for read in links.reads]
        self._readers: list[set[int]] = [set() for _ in links.reads]
        for node, read in enumerate(self._reads):
            for source in read - {OUTSIDE}:
                self._readers[source].add(node)

    def joins(self, node: int, behind: int) -> bool:
        links = self._links
        return (
            self._reads[behind] == {node}
            and self._readers[node] == {behind}
            and not links.stays[node]
            and links.alike[node] is not None
            and links.alike[node] == links.alike[behind]
        )

    def behind(self, node: int) -> int | None:
        return next((one for one in self._readers[node] if self.joins(node, one)), None)

    def before(self, node: int) -> int | None:
        sources = self._reads[node] - {OUTSIDE}
        return next((one for one in sources if self.joins(one, node)), None)

    def goes_round(self, start: int) -> bool:
        """Whether the path from here comes back here; it cannot visit any other node twice."""
        node = self.behind(start)
        while node is not None and node != start:
            node = self.behind(node)
        return node == start
