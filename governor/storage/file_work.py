"""Runs slow work on files in threads, so that the governor keeps sending heartbeats.

Moving a file within the store's filesystem takes microseconds. Adopting or deleting a directory of
a million files, or copying the target of a link, takes minutes.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

import outcome
import trio
from attrs import define

from rain.governor.core.events import Event, FilesDeleted, Tell
from rain.governor.storage.store import Store
from rain.rpc.background import Background


@define(eq=False)
class _Late:
    """Events that are made from the result of a thread."""

    finish: Callable[[Any], list[Event]]
    result: outcome.Outcome[Any] | None = None


class InOrder:
    """Passes on the events of one executor in order, including events that a thread must make.

    The state applies each answer of an executor to its oldest calls. So events wait until all
    earlier ones have been made and passed on.
    """

    def __init__(self, tell: Tell, background: Background) -> None:
        self._tell = tell
        self._background = background
        self._waiting: deque[Event | _Late] = deque()
        self._idle = trio.Event()
        self._idle.set()

    def __call__(self, event: Event) -> None:
        if self._waiting:
            self._waiting.append(event)
        else:
            self._tell(event)

    def later(self, work: Callable[[], Any], finish: Callable[[Any], list[Event]]) -> None:
        """Runs `work` in a thread; `finish` makes events from its result."""
        late = _Late(finish)
        self._waiting.append(late)
        if self._idle.is_set():  # else somebody may wait for the event that there is
            self._idle = trio.Event()

        def done(result: outcome.Outcome[Any]) -> None:
            late.result = result
            self._go_on()

        self._background.in_thread(work, done)

    @property
    def is_idle(self) -> bool:
        """Whether no thread works for this executor."""
        return self._idle.is_set()

    async def idle(self) -> None:
        """Waits until no thread works for this executor."""
        await self._idle.wait()

    def _go_on(self) -> None:
        while self._waiting:
            first = self._waiting[0]
            if isinstance(first, _Late):
                if first.result is None:
                    return
                for event in first.finish(first.result.unwrap()):
                    self._tell(event)
            else:
                self._tell(first)
            self._waiting.popleft()
        self._idle.set()


class Deleter:
    """Deletes files of the store that no object uses any more, in at most one thread at a time."""

    def __init__(self, store: Store, background: Background) -> None:
        self._store = store
        self._background = background
        self._files: deque[tuple[int, Tell | None]] = deque()
        self._deleted: dict[Tell, list[int]] = {}  # and not told yet
        self._trims = False  # whether spare files may be too many
        self._in_thread = False
        self._deleting = threading.Lock()
        self._closed = False

    def delete(self, files: list[int], tell: Tell | None = None) -> None:
        """Deletes these files soon, and tells of it."""
        self._files.extend((file, tell) for file in files)
        self._go_on()

    def trim_spares(self) -> None:
        """Deletes spare files soon, if they are too many."""
        self._trims = True
        self._go_on()

    def close(self) -> None:
        """Stops deleting: the governor ends and removes the whole store."""
        self._closed = True

    def join(self) -> None:
        """Blocks until no file is being deleted; call it after `close`."""
        with self._deleting:
            return

    def _go_on(self) -> None:
        if (self._files or self._trims) and not self._in_thread and not self._closed:
            self._in_thread = True
            self._background.in_thread(self._work, self._done)

    def _work(self) -> None:
        with self._deleting:
            while self._files and not self._closed:
                file, tell = self._files.popleft()
                self._store.delete([file])
                if tell is not None:
                    self._deleted.setdefault(tell, []).append(file)
            if self._trims and not self._closed:
                self._trims = False
                self._store.trim_spares()

    def _done(self, result: outcome.Outcome[None]) -> None:
        self._in_thread = False
        result.unwrap()  # an error in our thread is our bug
        deleted, self._deleted = self._deleted, {}
        for tell, files in deleted.items():
            tell(FilesDeleted(files))
        self._go_on()
