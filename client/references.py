"""Pickles futures, and chooses the client that a future belongs to where it is unpickled.

A pickle of a future is a call of `refer` with the place of its result, so it may be read in a task,
in another program, or in the same one. There the current client takes a handle of the object.
Pickles contain the name of `refer`, so its module and name are part of the interface.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import WeakMethod

from attrs import frozen

from rain.common.errors import RainException
from rain.common.running import running_call
from rain.common.sameness import at_place

if TYPE_CHECKING:
    from rain.client.futures.futures import Futures


@frozen
class _Client:
    """One client of this program."""

    futures: WeakMethod[Callable[[], Futures]]
    cluster: bytes
    is_closed: Callable[[], bool]


class _Reading(threading.local):
    taker: Futures | None = None  # whose data this thread is unpickling


reading = _Reading()

_clients: list[_Client] = []  # in the order in which they have connected
_of_tasks: list[Callable[[], Futures]] = []  # one, which gives the futures of the running task


def note_client(
    futures: Callable[[], Futures], cluster: bytes, is_closed: Callable[[], bool]
) -> None:
    """A client of this program has connected."""
    _clients[:] = [one for one in _clients if not one.is_closed() and one.futures() is not None]
    _clients.append(_Client(WeakMethod(futures), cluster, is_closed))


def note_tasks(futures: Callable[[], Futures]) -> None:
    """How a task gets to the futures of its own client."""
    _of_tasks[:] = [futures]


def refer(place: bytes, name: str) -> Any:
    """The future that was pickled."""
    cluster, object_id = at_place(place)
    return _taker(name, cluster).borrow(object_id, name)


def _taker(name: str, cluster: bytes) -> Futures:
    taker = reading.taker
    if taker is not None and taker.cluster == cluster:
        return taker
    if running_call() is not None:
        (of_task,) = _of_tasks
        taker = of_task()
        if taker.cluster == cluster:
            return taker
    are_open = False
    for client in reversed(_clients):
        futures = client.futures()
        if futures is not None and not client.is_closed():
            are_open = True
            if client.cluster == cluster:
                return futures()
    if are_open:
        raise RainException(
            f"the future {name!r} belongs to another cluster, or to one that has ended: no open"
            " client of this program is connected to that"
        )
    raise RainException(
        f"the future {name!r} cannot be unpickled without a client: connect one to its cluster"
        " before, and keep it open"
    )
