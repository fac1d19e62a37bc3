"""Moves files from shared memory to the disk, in at most one thread at a time."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from pathlib import Path

import outcome

from rain.governor.core.effects import CopyToDisk, DropCopy, LeaveMemory, TierEffect
from rain.governor.core.events import CopyMade, Tell
from rain.governor.storage.errors import StoreError
from rain.governor.storage.store import Store
from rain.rpc.background import Background, trouble_of


class Mover:
    """Carries out the effects of `tiers`."""

    def __init__(self, store: Store, background: Background, tell: Tell) -> None:
        self._store = store
        self._background = background
        self._tell = tell
        self._copies: deque[int] = deque()
        self._removals: deque[Path] = deque()
        self._in_thread = False
        self._moving = threading.Lock()
        self._closed = False

    def carry(self, effect: TierEffect) -> None:
        """Carries out an effect; only what takes long is left for later."""
        match effect:
            case CopyToDisk(file):
                self._copies.append(file)
            case LeaveMemory(file):
                self._removals.append(self._store.leave_memory(file))
            case DropCopy(file):
                self._store.drop_copy(file)
        self._go_on()

    def close(self) -> None:
        """Stops: the governor ends and removes all files."""
        self._closed = True

    def join(self) -> None:
        """Blocks until no file is being moved; call it after `close`."""
        with self._moving:
            return

    def _is_over(self) -> bool:
        return self._closed

    def _go_on(self) -> None:
        if self._in_thread or self._closed:
            return
        if self._removals:  # before the next copy: they make room
            self._start(partial(self._store.remove, self._removals.popleft()), self._done)
        elif self._copies:
            file = self._copies.popleft()
            self._start(
                partial(self._store.copy_out, file, self._is_over), partial(self._copied, file)
            )

    def _start(
        self, work: Callable[[], None], done: Callable[[outcome.Outcome[None]], None]
    ) -> None:
        self._in_thread = True
        self._background.in_thread(partial(self._work, work), done)

    def _work(self, work: Callable[[], None]) -> None:
        with self._moving:
            if not self._closed:
                work()

    def _done(self, result: outcome.Outcome[None]) -> None:
        self._in_thread = False
        result.unwrap()  # an error in our thread is our bug
        self._go_on()

    def _copied(self, file: int, result: outcome.Outcome[None]) -> None:
        self._in_thread = False
        trouble = trouble_of(result, StoreError)
        if trouble is None:
            result.unwrap()
            self._tell(CopyMade(file))
        else:
            self._tell(CopyMade(file, str(trouble)))
        self._go_on()
