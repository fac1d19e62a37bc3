"""Chains of Dask's nodes that become one task, because they are small (`colours`)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from rain.client.for_dask.colours import colour
from rain.client.for_dask.graphs import Chain, Key, is_data, may_fuse
from rain.client.for_dask.small_nodes import SMALL, chunk_bytes, small_works

FEWEST_CHAINS = 64
"""With fewer that are small, it is not worth to look for groups."""

MOST_LEFT = 0.8
"""If more of the chains than this would be left, groups do not pay for themselves."""

WORK_AT_MOST = 64 * SMALL
"""Bytes that a group reads and writes at most."""


def grouped(
    chains: Mapping[Key, Chain],
    notes: Mapping[str, Mapping[str, Any]],
    alone: Collection[Key],
    wanted: Collection[Key],
    cpus: Callable[[], int],
) -> dict[Key, Chain]:
    """The nodes of all chains, where several small chains may have become one group.

    The keys are those of their ends. A group of several chains is no chain: its nodes may read any
    before them.

    Args:
        chains: each after those that it reads.
        notes: of the arrays in the graph, as Dask has made them.
        alone: the ends of chains that stay as they are.
        wanted: the keys that somebody waits for.
        cpus: asks the cluster how many it has.
    """
    if len(chains) < FEWEST_CHAINS or not may_fuse():
        return dict(chains)
    works = {
        end: work
        for end, work in small_works(chains, chunk_bytes(notes)).items()
        if end not in alone and not is_data(chains[end][0][1])
    }
    if len(works) < FEWEST_CHAINS:
        return dict(chains)
    reads = {
        end: [
            read
            for read in chain[0][1].dependencies
            if read in chains and not is_data(chains[read][0][1])
        ]
        for end, chain in chains.items()
    }
    could_go = _joinable(reads, works)
    known_cpus = cpus() if len(chains) - could_go <= MOST_LEFT * len(chains) else 0
    if known_cpus == 0:
        return dict(chains)
    groups = colour(reads, works, wanted, known_cpus, WORK_AT_MOST)
    if len(groups) > MOST_LEFT * len(chains):
        return dict(chains)
    return {
        end: [pair for member in members for pair in chains[member]]
        for end, members in groups.items()
    }


def _joinable(reads: dict[Key, list[Key]], small: Collection[Key]) -> int:
    """At most how many chains can be in a group with those that read them.

    Counting them costs less than colouring does. All readers of such a chain are small, and if
    there are several, something joins them again.
    """
    readers: dict[Key, list[Key]] = {}
    for end, read_by_it in reads.items():
        for read in read_by_it:
            readers.setdefault(read, []).append(end)
    joinable: set[Key] = set()
    for end in reversed(reads):
        read_by = readers.get(end, ())
        meets = len(read_by) == 1 or not joinable.isdisjoint(read_by)
        if end in small and meets and all(reader in small for reader in read_by):
            joinable.add(end)
    return len(joinable)
