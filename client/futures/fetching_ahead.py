"""Fetches large results while others are still being computed or loaded.

Small results come with the news that their calls have finished. A larger one has to be fetched, and
over a slow link that takes several round trips. If the program began to fetch only after the last
call, it would wait for these round trips again and again.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from concurrent import futures as standard
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from rain.common.errors import RainException

if TYPE_CHECKING:
    from rain.client.future import Future

AT_ONCE = 32
"""Results that are fetched side by side."""

HELD = 64 * 1024 * 1024
"""At most as many bytes are held that were fetched and not loaded: loading them takes the same
memory once more.
"""


def may_begin(on_the_way: int, held: int, *, needed: bool) -> bool:
    """Whether one more result may be fetched; `needed` if the first one is to be loaded now.

    It is then fetched together with the following ones. Alone, each would take its full round
    trips.
    """
    return on_the_way < AT_ONCE and (needed or held < HELD)


class FetchingAhead:
    """Fetches the results of some futures, from when they are done until they are loaded.

    A cluster in this process has its results here, and they are left where they are.
    """

    def __init__(self, futures: Sequence[Future[Any]]) -> None:
        self.futures = futures
        homes = {id(future.home): future.home for future in futures}.values()
        self._homes = [home for home in homes if home.here is None]
        self._lock = threading.RLock()  # a signal handler may put a value, which is done at once
        self._wanted: set[Future[Any]] | None = None  # not done yet; made when it is needed
        self._line: deque[Future[Any]] = deque()  # done, and not begun
        self._coming: dict[Future[Any], standard.Future[None]] = {}
        self._sizes: dict[Future[Any], int] = {}  # of what is held
        self._on_the_way = self._held = 0
        self._pool: standard.ThreadPoolExecutor | None = None
        self._is_over = False

    def __enter__(self) -> Self:
        """Listens for ends from now on, and looks at those that have ended already."""
        for home in self._homes:
            home.at_each_end.append(self._hear)
        if self._homes:
            for future in self.futures:
                if future.has_ended:
                    self._hear(future)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for home in self._homes:
            home.at_each_end.remove(self._hear)
        with self._lock:
            self._is_over = True
            self._line.clear()
            self._coming.clear()
        if self._pool is not None:
            # A failure is raised at once: what is on its way ends by itself.
            self._pool.shutdown(wait=kind is None, cancel_futures=True)

    def all_have_ended(self) -> None:
        """They are loaded now in the order of their places, and the rest is fetched in it, too.

        A waiting thread may know of the last end before this does.
        """
        with self._lock:
            self._wanted = set()
            places = dict.fromkeys(self.futures) if self._homes else ()
            self._line = deque(one for one in places if self._is_to_come(one))

    def reach(self, future: Future[Any]) -> None:
        """This one is loaded next. If it has not arrived by then, `result` fetches it."""
        overtakes = False
        with self._lock:
            if self._line and self._line[0] is future:
                self._begin(needed=True)
                if self._line and self._line[0] is future:
                    self._line.popleft()
                    overtakes = True  # others are on their way, and it does not wait for these
            coming = self._coming.pop(future, None)
        if overtakes:
            with suppress(RainException):  # as below
                (data,) = future.home.session.fetch_all([future.handle])
                future.take_data(data)  # so that no loop is seen in what is gathered
        if coming is None:
            return
        with suppress(RainException):  # `result` says why
            coming.result()
        with self._lock:
            self._held -= self._sizes.pop(future, 0)
            self._begin()

    def _is_to_come(self, future: Future[Any]) -> bool:
        return not future.is_here and future not in self._coming and future.home.here is None

    def _hear(self, future: Future[Any]) -> None:
        """A future is done, perhaps not one of these. Called in any thread."""
        if future.is_here:  # the usual case: it is small, and has come with the news
            return
        with self._lock:
            if self._wanted is None:
                self._wanted = {one for one in self.futures if one.home.here is None}
            if not self._is_over and future in self._wanted:
                self._wanted.discard(future)
                self._line.append(future)
                self._begin()

    def _begin(self, *, needed: bool = False) -> None:
        """Begins with those that may come now; the lock is held."""
        while self._line and may_begin(self._on_the_way, self._held, needed=needed):
            future = self._line.popleft()
            if self._pool is None:
                self._pool = standard.ThreadPoolExecutor(AT_ONCE, "rain-fetch-ahead")
            try:
                self._coming[future] = self._pool.submit(self._fetch, future)
            except RuntimeError:  # no thread can be started: too many are, or the program ends
                self._line.clear()
                return
            self._on_the_way += 1

    def _fetch(self, future: Future[Any]) -> None:
        size = 0
        try:
            (data,) = future.home.session.fetch_all([future.handle])
            future.take_data(data)
            size = data.get_view().nbytes
        finally:
            with self._lock:
                self._on_the_way -= 1
                self._sizes[future] = size
                self._held += size
                self._begin()
