"""Groups nodes of a graph that are too small to be tasks of their own: each group becomes one task.

Pure: it knows nodes by their keys, what they read, and how much work they are. Nodes get colours
from the beginning of the graph to its end, as chunks do in Mars. The nodes of one colour are a
group. A group has one result: only its last node is read by nodes outside of the group. So groups
never wait for each other in a cycle, and no other result is needed outside.

At each depth of the graph enough groups are left to keep all cpus busy.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Mapping
from typing import TypeAlias

from attrs import define

Key: TypeAlias = Hashable
Reads: TypeAlias = Mapping[Key, Collection[Key]]

GROUPS_PER_CPU = 4
"""How many groups there are at each depth for each cpu, if there are as many nodes."""

MEMBERS_AT_MOST = 100
"""With this many nodes the cost of the task itself is small. Larger groups would only lose more
work in a failure.
"""


@define
class _Group:
    members: list[Key]
    work: int
    depths: Counter[int]  # how many members there are at each
    outside: set[Key]  # what they read of others


def colour(
    reads: Reads, works: Mapping[Key, int], stays: Collection[Key], cpus: int, work_at_most: int
) -> dict[Key, list[Key]]:
    """All nodes in groups, by the only node of each that others read, after what they read.

    Args:
        reads: which other nodes each node reads; each comes after those.
        works: the work of each node that is small; others stay alone.
        stays: nodes whose results somebody wants.
        cpus: of the cluster.
        work_at_most: the most work in one group of several nodes.
    """
    return _Colouring(reads, works, stays, cpus, work_at_most).groups()


class _Colouring:
    def __init__(
        self,
        reads: Reads,
        works: Mapping[Key, int],
        stays: Collection[Key],
        cpus: int,
        work_at_most: int,
    ) -> None:
        self._reads = reads
        self._works = works
        self._stays = frozenset(stays)
        self._work_at_most = work_at_most
        self._readers: dict[Key, set[Key]] = defaultdict(set)
        self._depths: dict[Key, int] = {}
        for key, read in reads.items():
            self._depths[key] = 1 + max([self._depths[one] for one in read], default=0)
            for one in read:
                self._readers[one].add(key)
        widths = Counter(self._depths[key] for key in reads if key in works)
        self._shares = {
            depth: max(width // (GROUPS_PER_CPU * cpus), 1) for depth, width in widths.items()
        }
        self._groups: dict[Key, _Group] = {}

    def groups(self) -> dict[Key, list[Key]]:
        for key, read in self._reads.items():
            group = _Group([key], self._works.get(key, 0), Counter([self._depths[key]]), set(read))
            joining = self._joining(key) if read and key in self._works else []
            united = _united([*[self._groups[one] for one in joining], group])
            if joining and self._fits(united):
                for one in joining:
                    del self._groups[one]
                group = united
            self._groups[key] = group
        places = {key: place for place, key in enumerate(self._reads)}
        return {
            key: sorted(group.members, key=places.__getitem__)
            for key, group in self._groups.items()
        }

    def _joining(self, key: Key) -> list[Key]:
        """The groups that could get the colour of a node; none unless all groups that it reads can.
        Otherwise they would wait for something that only the node needs.
        """
        inside = {key}
        joining: list[Key] = []
        left = set(self._reads[key])
        members = 1
        while found := [one for one in left if self._may_join(one, inside)]:
            for one in found:
                group = self._groups[one]
                members += len(group.members)
                if members > MEMBERS_AT_MOST:
                    return []
                joining.append(one)
                inside.update(group.members)
                left |= group.outside
            left -= inside
        return joining if inside.issuperset(self._reads[key]) else []

    def _may_join(self, end: Key, inside: set[Key]) -> bool:
        return end in self._works and end not in self._stays and self._readers[end] <= inside

    def _fits(self, group: _Group) -> bool:
        return (
            len(group.members) <= MEMBERS_AT_MOST
            and group.work <= self._work_at_most
            and all(count <= self._shares[depth] for depth, count in group.depths.items())
        )


def _united(groups: Collection[_Group]) -> _Group:
    members: list[Key] = []
    depths: Counter[int] = Counter()
    outside: set[Key] = set()
    for group in groups:
        members += group.members
        depths.update(group.depths)
        outside |= group.outside
    return _Group(members, sum(group.work for group in groups), depths, outside - set(members))
