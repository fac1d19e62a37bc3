"""A scheduler for Dask: a function that takes a graph and gives the values of some keys.

Each chain of nodes, or group of small ones, becomes a call of the client. Results stay on the
governors that made them until the nodes that need them have run; only the values of the wanted keys
come to the client.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, TypeAlias, cast

import numpy as np
from attrs import evolve

from rain.client.data import DataObject
from rain.client.explaining.tracebacks import hides_frames
from rain.client.for_dask.callbacks import NodeCallbacks, is_watched, watched
from rain.client.for_dask.concatenations import concatenate_in_files
from rain.client.for_dask.disk_shuffles import replace_disk_shuffles
from rain.client.for_dask.graphs import (
    Chain,
    Key,
    chains,
    flat,
    grids_of,
    is_data,
    is_exchange,
    kind_of,
    name_of,
    needed_nodes,
    nested,
    notes_of,
    ordered,
    target_of,
)
from rain.client.for_dask.groups import grouped
from rain.client.for_dask.part_numbers import number_some_at_a_time
from rain.client.for_dask.rechunks import CUTTING, Rechunks, find_rechunks
from rain.client.for_dask.shuffles import Shuffles, TakingApart, find_shuffles
from rain.client.for_dask.stores import expect_no_stores_here
from rain.client.futures import waiting
from rain.client.futures.futures import Futures
from rain.client.futures.shuffling import Part, exchange_task
from rain.client.options import Options
from rain.client.task import Task
from rain.common.bundles import call_chain, call_chain_of_part, call_group
from rain.common.content_type import encode_value
from rain.common.errors import TaskException

LARGEST_KNOWN = 4096
"""Values of the graph itself that are larger when they are pickled are uploaded, each once."""


TOO_LARGE = """\
Make the partitions or chunks smaller (npartitions=, chunks=, blocksize=), or give the governor more
memory. The result of a groupby, drop_duplicates or value_counts is in few partitions: ask for more
with split_out=, for instance split_out=16. Strings in columns of type "object" take several times
their size: .astype("string[pyarrow]")."""
"""Advice when a task of Dask's needs too much memory."""


_OF_OPEN_CLIENT = (
    ": write dask.config.set(scheduler=client.dask) with an open client, or scheduler=None for"
    " Dask's own scheduler"
)


class DaskScheduler:
    """Computes Dask's graphs on the cluster of a client; `Client.dask` makes it."""

    def __init__(self, opened: Callable[[], Futures]) -> None:
        self._opened = opened

    @hides_frames
    def __call__(
        self,
        dsk: Any,
        keys: Any,
        *,
        retries: int = 0,
        resources: Mapping[str, int | str] | None = None,
        callbacks: Any = None,
        **_: Any,
    ) -> Any:
        """The values of some keys of a graph, in tuples where the keys are in lists.

        Args:
            dsk: the graph, as any of Dask's collections has it.
            keys: a key, or lists of keys in any depth.
            retries: how often a node is run again that has failed.
            resources: what each node needs, for instance `{"memory": "2GiB"}`.
            callbacks: as Dask's own schedulers take them; by default those that are active.
        """
        options = Options.of(resources=resources, tries=1 + retries)
        wanted = list(flat(keys))
        described = number_some_at_a_time(concatenate_in_files(needed_nodes(dsk, wanted)))
        expect_no_stores_here(described)
        needed, splits = replace_disk_shuffles(described, wanted)
        rechunks = Rechunks(needed)
        shuffles = Shuffles()
        notes: Mapping[str, Mapping[str, Any]] = {}
        if is_watched(callbacks):  # they are called for each node, so none may be left out
            nodes = ordered(rechunks.nodes)
        else:
            notes = notes_of(dsk)
            rechunks = find_rechunks(needed, grids_of(notes), wanted)
            nodes = ordered(rechunks.nodes)
            shuffles = find_shuffles(nodes, wanted)
        futures = self._opened()
        futures.expect_open(_OF_OPEN_CLIENT)
        graph = _Graph(futures, options, shuffles, rechunks.cuts | splits)
        linked = chains(shuffles.others(nodes), wanted)
        alone = {end for end, chain in linked.items() if graph.is_exchanged(chain)}
        found = grouped(linked, notes, alone, wanted, futures.cpus) if notes else linked
        for key, chain in found.items():
            graph.add(key, chain, is_group=len(chain) > len(linked[key]))
        firsts = {key: chain[0][1] for key, chain in linked.items()}
        with watched(callbacks, dsk, firsts) as watch:
            return nested(keys, graph.computed(wanted, watch))

    def __repr__(self) -> str:
        return "<DaskScheduler>"


class _Known:
    """A value that the graph has itself."""

    def __init__(self, key: Key, value: Any) -> None:
        self.value = value
        self._key = key
        self._is_placed = False
        self._handle: DataObject | None = None

    def handle(self, futures: Futures) -> DataObject | None:
        """The value on the cluster, or None if it is too small for that."""
        if not self._is_placed:
            self._is_placed = True
            if _is_large(self.value):
                self._handle = futures.constant(self.value, kind_of(self._key))
        return self._handle


_Place: TypeAlias = Task | _Known


class _Graph:
    """One graph as calls."""

    def __init__(
        self, futures: Futures, options: Options, shuffles: Shuffles, cuts: Collection[Key]
    ) -> None:
        self._futures = futures
        self._options = options
        self._shuffles = shuffles
        self._cuts = cuts  # the nodes that make pieces themselves
        self._exchanges: dict[tuple[Key, ...], Task] = {}
        self._by_kind: dict[str, Options] = {}
        self._places: dict[Key, _Place] = {}
        self._steps: dict[Key, Task] = {}

    def is_exchanged(self, chain: Chain) -> bool:
        """Whether a chain is part of a shuffle or of a rechunk."""
        first, last = chain[0], chain[-1]
        return (
            is_exchange(first[1])
            or first[0] in self._shuffles.reads
            or last[0] in self._shuffles.parts
            or last[0] in self._cuts
        )

    def add(self, key: Key, chain: Chain, *, is_group: bool) -> None:
        """A chain or a group of nodes, after those that it depends on."""
        node = chain[0][1]
        target = target_of(node)
        if is_group:
            self._places[key] = self._steps[key] = self._step(chain, call_group)
        elif len(chain) > 1:
            self._places[key] = self._steps[key] = self._step(chain)
        elif target is not None:
            self._places[key] = self._places[target]
        elif is_data(node):
            self._places[key] = _Known(key, node.value)
        elif is_exchange(node):
            self._places[key] = self._exchange(tuple(sorted(node.dependencies)))
        else:
            self._places[key] = self._steps[key] = self._step(chain)

    def _step(self, chain: Chain, call: Callable[..., Any] = call_chain) -> Task:
        keys: list[Key] = []
        inputs: list[DataObject] = []
        known: dict[Key, Any] = {}
        read = self._shuffles.reads.get(chain[0][0])
        if read is not None:
            keys += read.pieces
        for dependency in _read_by(chain):
            if dependency in self._shuffles.pieces:
                continue
            place = self._places[dependency]
            handle = place.output if isinstance(place, Task) else place.handle(self._futures)
            if handle is not None:
                keys.append(dependency)
                inputs.append(handle)
            elif isinstance(place, _Known):
                known[dependency] = place.value
        data = encode_value((chain, keys, known), "pickle")
        options = self._named(name_of(chain))
        parts = self._shuffles.parts.get(chain[-1][0])
        if parts is not None:
            options = evolve(options, surrounding=TakingApart(parts))
        elif chain[-1][0] in self._cuts:
            options = evolve(options, surrounding=CUTTING)
        if read is None:
            return self._futures.step(call, (data, *inputs), options)
        part = Part(self._exchange(read.splits).output, read.part)
        return self._futures.step(call_chain_of_part, (data, part, *inputs), options)

    def _exchange(self, splits: tuple[Key, ...]) -> Task:
        """The task that lists the places where these nodes leave their pieces."""
        task = self._exchanges.get(splits)
        if task is None:
            made = [self._steps[split].output for split in splits]
            task = exchange_task(self._futures.session, made, self._options.priority)
            self._exchanges[splits] = self._steps["exchange", splits] = task
        return task

    def _named(self, kind: str) -> Options:
        options = self._by_kind.get(kind)
        if options is None:
            options = self._by_kind[kind] = evolve(self._options, name=kind)
        return options

    def computed(self, wanted: Iterable[Key], watch: NodeCallbacks | None) -> dict[Key, Any]:
        """Runs all of it; the values of the wanted keys."""
        places = {key: self._places[key] for key in wanted}
        tasks = {place.packed_id: place for place in places.values() if isinstance(place, Task)}
        heard = {} if watch is None or not watch.hears_nodes else self._steps
        chosen = {task.packed_id: task for task in heard.values()} | tasks
        sent = self._futures.run(list(self._steps.values()), list(chosen.values()))
        futures = dict(zip(chosen, sent, strict=True))
        results = {number: futures[number] for number in tasks}
        followed = {key: futures.pop(task.packed_id) for key, task in heard.items()}
        del sent, futures
        try:
            if watch is not None:
                watch.follow(followed)
            waiting.gather([*followed.values(), *results.values()])
        except BaseException as error:
            for future in (*followed.values(), *results.values()):
                future.cancel()
            if isinstance(error, TaskException) and error.runs and error.runs[-1].cause == "memory":
                error.add_note(TOO_LARGE)
            raise
        return {
            key: results[place.packed_id].result() if isinstance(place, Task) else place.value
            for key, place in places.items()
        }


def _read_by(nodes: Chain) -> Iterable[Key]:
    """The keys of other nodes that a chain reads."""
    if len(nodes) == 1:
        return cast("Iterable[Key]", nodes[0][1].dependencies)
    inner = {key for key, _ in nodes}
    read = dict.fromkeys([one for _, node in nodes for one in node.dependencies])
    return [one for one in read if one not in inner]


def _is_large(value: Any) -> bool:
    if isinstance(value, np.ndarray) and value.nbytes > LARGEST_KNOWN:
        return True
    return len(encode_value(value, "pickle")) > LARGEST_KNOWN
