"""Work on files that may take long: in threads, so that the governor goes on giving signs of life.

To move a file within the store's filesystem takes microseconds. To adopt or delete a directory of
a million files, or to copy what a link leads to, takes minutes.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

import outcome
from attrs import define

from rain.governor.messages import Event
from rain.governor.store import Store
from rain.rpc.threads import in_thread


@define(eq=False)
class _Late:
    """Events that are made of what a thread comes to."""

    finish: Callable[[Any], list[Event]]
    result: outcome.Outcome[Any] | None = None


class InOrder:
    """Tells the events of one executor in their order, also those that a thread has to make first.

    The state takes what an executor says for said of its oldest calls. So whatever is told behind
    an event that is being made waits for it. All but the work itself happens in the host.
    """

    def __init__(self, tell: Callable[[Event], object]) -> None:
        self._tell = tell
        self._waiting: deque[Event | _Late] = deque()
        self._when_idle: list[Callable[[], object]] = []

    def __call__(self, event: Event) -> None:
        if self._waiting:
            self._waiting.append(event)
        else:
            self._tell(event)

    def later(self, work: Callable[[], Any], finish: Callable[[Any], list[Event]]) -> None:
        """Works in a thread; `finish` makes events of what that has come to."""
        late = _Late(finish)
        self._waiting.append(late)

        def done(result: outcome.Outcome[Any]) -> None:
            late.result = result
            self._go_on()

        in_thread(work, done)

    def when_idle(self, function: Callable[[], object]) -> None:
        """Calls a function as soon as no thread works for this executor."""
        self._when_idle.append(function)
        self._go_on()

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
        functions, self._when_idle = self._when_idle, []
        for function in functions:
            function()


def _no_failure(result: outcome.Outcome[None]) -> None:
    result.unwrap()  # what a thread of ours raises is ours


class Deleter:
    """Deletes from the store what no object has any more, in one thread that starts when needed."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._files: SimpleQueue[list[int] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._closed = False

    def delete(self, files: list[int]) -> None:
        """Soon."""
        self._files.put(files)
        if self._thread is None:
            self._thread = in_thread(self._work, _no_failure)

    def close(self) -> None:
        """The governor ends, and the whole store with it."""
        self._closed = True
        self._files.put(None)

    def join(self) -> None:
        """Waits until nothing is being deleted any more. Blocks."""
        if self._thread is not None:
            self._thread.join()

    def _work(self) -> None:
        while (files := self._files.get()) is not None:
            for file in files:
                if not self._closed:
                    self._store.delete([file])
