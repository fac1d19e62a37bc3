"""Fetches results ahead for programs that read one result after the other, in any kind of loop.

Small results come with the news that their calls have finished. A larger one is fetched when it is
read, and over a slow link each fetch takes a round trip. So when a program has read results of some
calls of one name, more results are fetched at the same time: those of calls that were submitted
next to them, that are done, and whose futures still exist. At most as many results are fetched in
vain as were read. Nothing is fetched for a program that reads none.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from concurrent import futures as standard
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from attrs import evolve, frozen

from rain.base.ids import ObjectId
from rain.common.errors import RainException

if TYPE_CHECKING:
    from rain.client.data import DataObject
    from rain.client.future import Future
    from rain.common.data_instance import DataInstance

FEW = 2
"""Results that are read before any is fetched ahead: a program that reads one may want no other."""

AT_ONCE = 32
"""Results that are on their way or held for the loops of a client."""

HELD = 64 * 1024 * 1024
"""Bytes of these. What is on its way counts as the largest one that its loop has read."""

NEAR = 128
"""A loop goes on where the next id is this near. Calls with large arguments take several each."""

LOOPS = 4
"""Loops that are remembered: a program may read several lists of futures side by side."""


@frozen
class Progress:
    """How far a program has read the results of calls of one name."""

    last: ObjectId
    step: int = 1  # -1: it reads backward
    reads: int = 1
    unread: int = 0  # fetched ahead and not read, also those that are forgotten
    largest: int = 0  # bytes of a result that was read


def went_on(before: Progress | None, read: ObjectId) -> Progress:
    """The progress with one more read; a new one if the loop has ended and another begins."""
    if before is None or abs(read - before.last) > NEAR:
        return Progress(read)
    step = 1 if read >= before.last else -1
    return evolve(before, last=read, step=step, reads=before.reads + 1)


def how_many(progress: Progress, ahead: int, held: int) -> int:
    """How many more may be fetched, with that many on their way or held, and that many bytes."""
    if progress.reads < FEW or held > HELD:
        return 0
    room = (HELD - held) // max(progress.largest, 1)
    return max(0, min(progress.reads - progress.unread, AT_ONCE - ahead, room))


def places_ahead(progress: Progress) -> Iterator[ObjectId]:
    """Where the loop goes on. Not all of these ids belong to results."""
    return (ObjectId(progress.last + progress.step * far) for far in range(1, NEAR + 1))


class _Arrived(NamedTuple):
    data: DataInstance
    size: int


_Coming = standard.Future[_Arrived]


class _Loop:
    """A loop, and what is fetched for it. It is forgotten with the loop or with its future."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.ahead: WeakKeyDictionary[Future[Any], _Coming] = WeakKeyDictionary()

    @property
    def bytes_ahead(self) -> int:
        """The bytes of what has come, and an estimate for what is on its way."""
        return sum(
            coming.result().size if _has_come(coming) else self.progress.largest
            for coming in [*self.ahead.values()]
        )

    def forget_far(self) -> None:
        """Drops what the loop has left behind."""
        last = self.progress.last
        for future in [*self.ahead]:
            if abs(future.object_id - last) > NEAR:
                self.ahead.pop(future, None)


class Loops:
    """The loops in which the results of one client are read. It keeps neither client nor future."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a signal handler may read a result, too
        self._loops: OrderedDict[str, _Loop] = OrderedDict()  # by the name of the calls
        self._pool: standard.ThreadPoolExecutor | None = None
        self._is_over = False

    def stop(self) -> None:
        """Nothing more is fetched ahead, and what was is forgotten."""
        with self._lock:
            self._is_over = True
            self._loops.clear()
            if self._pool is not None:
                self._pool.shutdown(wait=False, cancel_futures=True)

    def has(self, future: Future[Any]) -> bool:
        """Whether the result of a future was fetched ahead and has come."""
        loop = self._loops.get(future.name)
        coming = None if loop is None else loop.ahead.get(future)
        return coming is not None and _has_come(coming)

    def read(
        self, future: Future[Any], fetch: Callable[[DataObject], DataInstance]
    ) -> DataInstance:
        """The data of a result, which is fetched now or was ahead; the next ones are begun."""
        name = future.name
        with self._lock:
            loop = self._reach(name, future)
            coming = loop.ahead.get(future)
            self._begin(loop, future)
        data = None
        if coming is not None:
            # What could not be fetched is asked for once more, which says why.
            with suppress(RainException, standard.CancelledError):
                data = coming.result().data
        if data is None:
            data = fetch(future.handle)
        with self._lock:
            progress = loop.progress
            if coming is not None and loop.ahead.pop(future, None) is not None:
                progress = evolve(progress, unread=progress.unread - 1)
            largest = max(progress.largest, data.get_view().nbytes)
            loop.progress = evolve(progress, largest=largest)
        return data

    def _reach(self, name: str, future: Future[Any]) -> _Loop:
        """The loop that reads this now."""
        loop = self._loops.get(name)
        progress = went_on(None if loop is None else loop.progress, future.object_id)
        if loop is None or progress.reads == 1:
            loop = self._loops[name] = _Loop(progress)
            if len(self._loops) > LOOPS:
                self._loops.popitem(last=False)
        loop.progress = progress
        loop.forget_far()
        self._loops.move_to_end(name)
        return loop

    def _begin(self, loop: _Loop, reading: Future[Any]) -> None:
        """Begins to fetch what the loop is expected to read next."""
        if loop.progress.reads < FEW or self._is_over:
            return
        ahead = sum(len(one.ahead) for one in self._loops.values())
        held = sum(one.bytes_ahead for one in self._loops.values())
        left = how_many(loop.progress, ahead, held)
        home = reading.home
        for place in places_ahead(loop.progress):
            if left == 0:
                return
            future = home.ends.find(place)
            if future is None or future in loop.ahead or not _is_to_come(future, reading):
                continue
            if self._pool is None:
                self._pool = standard.ThreadPoolExecutor(AT_ONCE, "rain-read-ahead")
            try:
                coming = self._pool.submit(_fetch, home.session.fetch_all, future.handle)
            except RuntimeError:  # no thread can be started: too many are, or the program ends
                return
            loop.ahead[future] = coming
            loop.progress = evolve(loop.progress, unread=loop.progress.unread + 1)
            left -= 1


def _is_to_come(future: Future[Any], reading: Future[Any]) -> bool:
    """Whether a future has a result that nobody has asked for, of a call of the same name."""
    return future.has_ended and future.name == reading.name and not future.is_here


def _has_come(coming: _Coming) -> bool:
    return coming.done() and not coming.cancelled() and coming.exception() is None


def _fetch(
    fetch_all: Callable[[Sequence[DataObject]], Sequence[DataInstance]], handle: DataObject
) -> _Arrived:
    (data,) = fetch_all([handle])
    return _Arrived(data, data.get_view().nbytes)
