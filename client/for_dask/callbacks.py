"""Dask's callbacks: progress bars and profilers are called for the nodes of a graph."""

from collections.abc import Callable, Generator, Hashable, Iterable, Mapping, Sequence
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any, TypeAlias

from dask.callbacks import local_callbacks, unpack_callbacks

from rain.client.future import Future

Key: TypeAlias = Hashable
Callback: TypeAlias = Callable[..., object]

WORKER = "rain"
"""The name of the worker that Dask's callbacks get for each node."""

_local: Any = local_callbacks
_unpack: Callable[[Iterable[Any]], Sequence[Sequence[Callback]]] = unpack_callbacks


class NodeCallbacks:
    """Calls Dask's callbacks for the nodes of one graph."""

    def __init__(self, active: Iterable[Any], dsk: Any, nodes: Mapping[Key, Any]) -> None:
        _, _, self._pretask, self._posttask, _ = _unpack(active)
        self._dsk = dsk
        self.state: dict[str, Any] = {
            "cache": {},
            "dependencies": {key: set(node.dependencies) for key, node in nodes.items()},
            "dependents": {},
            "waiting": {},
            "waiting_data": {},
            "ready": [],
            "running": set[Key](),
            "finished": set[Key](),
            "released": set[Key](),
        }

    @property
    def hears_nodes(self) -> bool:
        """Whether any callback wants to know about single nodes."""
        return bool(self._pretask or self._posttask)

    def follow(self, futures: dict[Key, Future[Any]]) -> None:
        """Calls the callbacks for each node that is done, up to the first failure.

        All nodes are reported as running from the beginning, since only the cluster knows when they
        run. Futures that are done are removed from the mapping, so that the cluster can forget
        their results.
        """
        running, finished = self.state["running"], self.state["finished"]
        keys = {id(future): key for key, future in futures.items()}
        done: SimpleQueue[Future[Any]] = SimpleQueue()
        running.update(futures)
        for key in futures:
            for fn in self._pretask:
                fn(key, self._dsk, self.state)
        for future in futures.values():
            future.when_done(done.put)
            future.want()
        while futures:
            key = keys[id(future := done.get())]
            if future.exception() is not None:
                return
            del futures[key]
            running.discard(key)
            finished.add(key)
            if self._posttask:
                value = future.result()
                for fn in self._posttask:
                    fn(key, value, self._dsk, self.state, WORKER)


def is_watched(callbacks: Any) -> bool:
    """Whether callbacks are given, or active anyway."""
    with _local(callbacks) as active:
        return bool(active)


@contextmanager
def watched(callbacks: Any, dsk: Any, nodes: Mapping[Key, Any]) -> Generator[NodeCallbacks | None]:
    """Around the computation of a graph; gives None if there are no callbacks."""
    with _local(callbacks) as active:
        if not active:
            yield None
            return
        watch = NodeCallbacks(active, dsk, nodes)
        told: list[Any] = []
        failed = True
        try:
            for callback in active:
                start, start_state = callback[:2]
                if start is not None:
                    start(dsk)
                told.append(callback)
                if start_state is not None:
                    start_state(dsk, watch.state)
            yield watch
            failed = False
        finally:
            for callback in told:
                finish = callback[-1]
                if finish is not None:
                    finish(dsk, watch.state, failed)
