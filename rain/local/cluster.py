"""A cluster in this process: runs the turns of its server and its governor, and the calls of tasks.

**The lock** is held for turns and while something is added to the next one; never while a call
runs. A turn is never interrupted by Ctrl-C.

**Calls run in the threads that wait.** A thread that waits takes turns until nothing moves, then it
runs the next call, and so on until it has what it waits for. One call runs at a time. While a call
waits for others, its thread runs those on top of it, on the same stack, and all other threads wait.

**Calls that no thread waits for**, but a callback or an event loop does, are run by a thread of the
cluster.

Answers for callbacks are delivered without the lock, in their order, by one thread at a time.
"""

from __future__ import annotations

import os
import secrets
import threading
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from functools import partial
from time import monotonic
from weakref import WeakSet

from rain.base.errors import ConnectionLostError
from rain.base.ids import ObjectId
from rain.client.nested import TaskClient
from rain.daemon.work_folder import WorkFolder, remove_abandoned_clusters
from rain.governor.core.events import BuiltinDone, Event
from rain.governor.core.reactor_settings import Offer
from rain.governor.core.results import STOPPED
from rain.local.clock import DURATION, Steps
from rain.local.connection import LocalConnection
from rain.local.errors import forget_frames
from rain.local.executor import Executor
from rain.local.governor import ADDRESS, Governor, Runner
from rain.local.limits import limited
from rain.local.server import Server
from rain.local.shield import Shield
from rain.rpc.ended import NOT_HERE
from rain.stream.holder import Held

PATIENCE = 120.0
"""Seconds on the clock that may go by without a call until nothing will run by itself any more.

The server gives up tasks that fit nowhere before that.
"""

CLOSING_SECONDS = 5.0
"""How long the end waits for a call that runs in another thread."""


class HereCluster:
    """The cluster, until `close`. May be used by several threads."""

    def __init__(self, offer: Offer) -> None:
        remove_abandoned_clusters("here")  # of programs that were killed
        self._work = WorkFolder.of_cluster("here")
        self.folder = self._work.path
        self.name = secrets.token_bytes(16)
        self.clock = Steps()
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._news = 0  # counts changes, so that none is missed
        self._shield = Shield()
        self._closed = ""  # why
        self._idle = 0.0  # seconds on the clock since the last call
        self._running: list[Executor | None] = []  # each waits for the next; None: a built-in task
        self._is_left_to_runner = False  # to clean up, since a call still ran when it was closed
        self._runner = 0  # the thread in which these run
        self._answers: deque[Callable[[], object]] = deque()
        self._telling = threading.Lock()
        self._wanted: deque[tuple[Callable[[], bool], Callable[[], bool]]] = deque()
        self._stand_in: threading.Thread | None = None
        self.server = Server(self.folder / "constants", self.clock)
        self.governor = Governor.make(
            offer, self.folder, self.clock, self.server, self._task_client
        )
        self.server.join_governor(ADDRESS, offer.resources, self.governor)
        _living.add(self)

    def leave_to_parent(self) -> None:
        """In a forked child: the folder and all that runs belong to the parent."""
        self._closed = NOT_HERE

    # What others of this room use.

    @contextmanager
    def held(self) -> Generator[None]:
        """Holds the lock: the caller may add to the next turn, or read between two turns."""
        with self._shield, self._lock:
            if self._closed:
                raise ConnectionLostError(self._closed)
            yield
            self._note_change()

    def settle(self) -> None:
        """Makes turns until only calls of functions are left. Call it with the lock."""
        server, governor, clock = self.server, self.governor, self.clock
        while True:
            now = clock.step()
            if server.next_time <= now:
                server.turn()
            elif governor.next_time <= now:
                governor.turn()
            else:
                return

    def tell_later(self, tell: Callable[[], object]) -> None:
        """Queues an answer for a function."""
        self._answers.append(tell)

    def tell_answers(self) -> None:
        """Hands out the queued answers, without the lock, unless another thread does so."""
        while self._answers:
            if not self._telling.acquire(blocking=False):
                return
            try:
                with self._shield:
                    while self._answers:
                        self._answers.popleft()()
            finally:
                self._telling.release()
            self.ring()

    def ring(self) -> None:
        """Wakes the threads that wait, so that they check again."""
        with self._shield, self._lock:
            self._note_change()

    def check_own_call(self) -> None:
        """Raises if the call that runs in this thread was cancelled."""
        if self._runner == threading.get_ident() and self._running:
            executor = self._running[-1]
            if executor is not None:
                executor.interrupts.check()

    def find_anywhere(self, object_id: ObjectId) -> Held | None:
        """The data of a finished object."""
        return self.server.uploads.find(object_id) or self.governor.find(object_id)

    # Waiting.

    def work_until(
        self,
        is_done: Callable[[], bool],
        timeout: float | None = None,
        more: Callable[[], bool] | None = None,
    ) -> None:
        """Runs calls in this thread until `is_done`, or until the timeout.

        `more` sends what was not sent yet, and returns whether there was anything. The timeout is
        checked between two calls.
        """
        due = None if timeout is None else monotonic() + timeout
        has_run = False
        while True:
            seen = self._settle()
            if is_done() or self._closed:
                return
            self.check_own_call()
            if has_run and due is not None and monotonic() >= due:
                return
            has_run = True
            if self._run_next() or (more is not None and more()) or self._let_time_pass():
                continue
            left = None if due is None else due - monotonic()
            if left is not None and left <= 0:
                return
            with self._changed:
                if self._news == seen:
                    self._changed.wait(left)

    def work_once(self) -> None:
        """Runs one call in this thread, if one is ready: a program asks for states of tasks."""
        self._settle()
        self.check_own_call()
        if self._run_next():
            self._settle()

    def work_for(self, is_done: Callable[[], bool], more: Callable[[], bool]) -> None:
        """Lets a thread of the cluster run calls until `is_done`."""
        with self._shield, self._lock:
            self._wanted.append((is_done, more))
            self._note_change()
            if self._stand_in is None and not self._closed:
                self._stand_in = threading.Thread(
                    target=self._work_for_all, name="rain-local-calls", daemon=True
                )
                self._stand_in.start()

    def _work_for_all(self) -> None:
        try:
            while not self._closed:
                # Nobody presses Ctrl-C here: it is the interrupt of a call that was over when it
                # came.
                with suppress(KeyboardInterrupt):
                    self.work_until(self._nothing_is_wanted, None, self._send_for_others)
                    with self._changed:
                        if not self._wanted and not self._closed:
                            self._changed.wait()
        finally:  # if that is a mistake of ours, nobody may wait for this thread for ever
            self.close("the local cluster has failed; its thread has shown why")

    def _nothing_is_wanted(self) -> bool:
        while self._wanted and self._wanted[0][0]():
            self._wanted.popleft()
        return not self._wanted

    def _send_for_others(self) -> bool:
        """Sends what the waiting sessions have not sent yet."""
        senders = dict.fromkeys(more for _, more in list(self._wanted))
        return sum(more() for more in senders) > 0

    def _note_change(self) -> None:
        self._news += 1
        self._changed.notify_all()

    def _settle(self) -> int:
        """Makes turns and hands out their answers; returns the number of the last change."""
        with self._shield, self._lock:
            seen = self._news
            if not self._closed:
                self.settle()
        self.tell_answers()
        return seen

    def _let_time_pass(self) -> bool:
        """Sets the clock to the time of the next turn; False if no turn would change anything."""
        with self._shield, self._lock:
            if self._closed or self._idle > PATIENCE:
                return False
            due = min(self.server.next_time, self.governor.next_time)
            self._idle += self.clock.jump(due)
        return True

    # Calls.

    def _run_next(self) -> bool:
        """Runs one call in this thread, if one is ready."""
        with self._shield, self._lock:
            runner = self._begin()
            if runner is None:
                return False
            limit = self.governor.limit(runner)
        try:
            with limited(limit, partial(self._end_late, limit)):
                event = self.run(runner)
            with self._shield, self._lock:
                self.governor.tell(event)
        finally:
            with self._shield, self._lock:
                self._ended(runner if isinstance(runner, Executor) else None)
                is_over = self._is_left_to_runner and not self._running
            if is_over:
                self._clean_up()
        return True

    def _begin(self) -> Runner | None:
        me = threading.get_ident()
        if self._closed or (self._running and self._runner != me):
            return None
        chosen = self.governor.next()
        if chosen is None:
            return None
        self._idle = 0.0
        self._runner = me
        self._running.append(chosen if isinstance(chosen, Executor) else None)
        self.governor.begin(chosen)
        return chosen

    def run(self, runner: Runner) -> Event:
        """Runs a call, without the lock; returns the event for the governor."""
        if isinstance(runner, Executor):
            with self._told_if_interrupted(runner.given_up):
                return runner.run()
        with self._told_if_interrupted(lambda: BuiltinDone(runner.run, DURATION, STOPPED)):
            return self.governor.builtins.run(runner)

    @contextmanager
    def _told_if_interrupted(self, event: Callable[[], Event]) -> Generator[None]:
        """Tells the governor of the end of a call even if Ctrl-C or a debugger ends the program."""
        try:
            yield
        except BaseException:
            with self._shield, self._lock:
                self.governor.tell(event())
            raise

    def _end_late(self, limit: float, runs: Callable[[], bool]) -> None:
        """Ends a call at its time limit: the clock jumps ahead by these seconds."""
        with self._lock:
            if self._closed or not runs():
                return
            self.clock.jump(self.clock.now + limit)
            self.settle()
            self._note_change()
        self.tell_answers()

    def _ended(self, executor: Executor | None) -> None:
        self._running.pop()
        if executor is not None:
            self.governor.ended(executor)
        self._note_change()

    # Clients.

    def connect(self) -> LocalConnection:
        """Connects another client."""
        with self.held():
            return LocalConnection(self)

    def _task_client(self) -> TaskClient:
        return TaskClient.over(self.connect())

    def close(self, why: str = "the local cluster was closed") -> None:
        """Ends everything. A call that runs in another thread is interrupted. Idempotent."""
        with self._shield, self._changed:
            if self._closed:
                return
            self._closed = why
            self.server.links.refuse_all(self._closed)
            self.governor.builtins.stop_any()
            for executor in self._running:
                if executor is not None:
                    executor.interrupts.stop(executor.interrupts.call)
            self._note_change()
            if self._runner != threading.get_ident():
                self._changed.wait_for(lambda: not self._running, CLOSING_SECONDS)
            is_over = not self._running
            self._is_left_to_runner = not is_over
        if is_over:
            self._clean_up()
        self.tell_answers()

    def _clean_up(self) -> None:
        self.governor.end()
        self.server.uploads.close()
        forget_frames()
        self._work.remove()


_living: WeakSet[HereCluster] = WeakSet()


def _leave_to_parents() -> None:
    for cluster in list(_living):
        cluster.leave_to_parent()


os.register_at_fork(after_in_child=_leave_to_parents)
