"""The thread in which a client's side of Cap'n Proto lives, one for each process.

Clients are synchronous and are used from scripts, from several threads and from Jupyter, where the
main thread has an asyncio loop of its own. So the loop that carries Cap'n Proto runs in a daemon
thread that starts with the first connection. Whoever calls waits for a plain future and can be
interrupted: Ctrl-C ends the wait at once and cancels the call.

* A forked child inherits no threads. It gets a fresh thread with its first own connection. What it
  inherited is pinned: Cap'n Proto ends the process when its objects are collected elsewhere than
  in their thread, which the child does not have.
* For the same reason an exception that leaves the thread is stripped of its traceback, whose
  frames hold such objects.
* At exit the thread closes its connections and is joined. Who still waits then is a daemon thread,
  and waits until it ends with the process.
"""

import asyncio
import atexit
import ctypes
import os
import threading
import traceback
import weakref
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, Generic, Protocol, TypeVar, TypeVarTuple

import capnp

from rain.base.errors import ConnectionLostError, InvariantError, RainError
from rain.rpc.host import need_pycapnp
from rain.rpc.loop import QuietLoop

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
E = TypeVar("E", bound=BaseException)

NOT_HERE = "the connection does not belong to this process, or it ended"

STOP_LIMIT = 5.0
"""Seconds that the program's exit waits for the thread."""


class Guest(Protocol):
    """What lives in the thread: it is closed there at the end."""

    def close(self) -> None: ...

    def hush(self) -> None:
        """The program ends: who waits now waits for that, and hears nothing of the close."""


def bare(error: E) -> E:
    """An exception without the frames that it has passed; what surprises us keeps their text."""
    if not isinstance(error, RainError | TimeoutError):
        error.add_note("".join(traceback.format_exception(error)))
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)


class _Call(Generic[T]):
    """One coroutine that another thread waits for."""

    def __init__(self, coroutine: Callable[[], Coroutine[Any, Any, T]], end: asyncio.Event) -> None:
        self.future: Future[T] = Future()
        self._coroutine = coroutine
        self._end = end
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._run())

    def cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        try:
            result = await self._coroutine()
        except Exception as error:  # noqa: BLE001  # raised again where the result is wanted
            if not self._end.is_set():
                self.future.set_exception(bare(error))
        else:
            self.future.set_result(result)


class Background:
    """One thread with a loop that carries Cap'n Proto."""

    def __init__(self) -> None:
        self.is_usable = True  # it runs, and in this process
        self._guests: weakref.WeakSet[Guest] = weakref.WeakSet()
        self._started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()
        self._thread = threading.Thread(target=self._live, name="rain-client", daemon=True)
        self._thread.start()
        self._loop, self._end = self._started.result()

    def run(self, function: Callable[[*Ts], Coroutine[Any, Any, T]], *args: *Ts) -> T:
        """Runs a coroutine function in the thread and waits for its result."""
        if threading.current_thread() is self._thread:
            raise InvariantError("the thread of the connections cannot wait for itself")
        call = _Call(lambda: function(*args), self._end)
        # An interruption may come anywhere in here, and between the start and the wait, too.
        try:
            if not self.soon(call.start):
                raise ConnectionLostError(NOT_HERE)
            return call.future.result()
        except BaseException:
            # Either it has ended, and this does nothing; or somebody was interrupted.
            self.soon(call.cancel)
            raise

    def soon(self, function: Callable[[*Ts], object], *args: *Ts) -> bool:
        """Calls a plain function in the thread; False if the thread has ended. Never blocks."""
        if not self.is_usable:
            return False
        try:
            self._loop.call_soon_threadsafe(function, *args)
        except RuntimeError:  # the loop was closed between the two lines
            return False
        return True

    def adopt(self, guest: Guest) -> None:
        """Closes a guest with the thread, or pins it in a forked child. Called in the thread."""
        self._guests.add(guest)

    def pin(self) -> None:
        """In a forked child: keeps everything of the parent's thread for ever."""
        self.is_usable = False
        for inherited in (self, self._loop, *self._guests):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(inherited))

    def stop(self) -> None:
        """Closes every connection and ends the thread."""
        if self.soon(self._end.set):
            self._thread.join(STOP_LIMIT)

    def _live(self) -> None:
        try:
            with asyncio.Runner(loop_factory=QuietLoop) as runner:
                runner.run(self._main())
        finally:
            self.is_usable = False

    async def _main(self) -> None:
        end = asyncio.Event()
        async with capnp.kj_loop():
            self._started.set_result((asyncio.get_running_loop(), end))
            await end.wait()
            for guest in list(self._guests):
                guest.hush()
                guest.close()
            await asyncio.sleep(0)  # what closing has put off to the next turn happens in it


_lock = threading.Lock()
_current: list[Background] = []  # the one that is in use, if any


def background() -> Background:
    """The thread of this process, started when it is needed first."""
    need_pycapnp()
    with _lock:
        if not _current or not _current[0].is_usable:
            _current[:] = [Background()]
        return _current[0]


def _stop_at_exit() -> None:
    for one in _current:
        one.stop()


def _forget_in_child() -> None:
    # The lock may have been held by a thread that the child does not have.
    globals()["_lock"] = threading.Lock()
    for one in _current:
        one.pin()
    _current.clear()


atexit.register(_stop_at_exit)
os.register_at_fork(after_in_child=_forget_in_child)
