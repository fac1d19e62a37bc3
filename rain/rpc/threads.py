"""Threads beside the loops: what blocks runs in one of its own, and asks the host for the rest."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar, TypeVarTuple

import outcome

from rain.base.errors import RainError
from rain.rpc.host import host
from rain.stream.sockets import BrokenError

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class HostCalls:
    """Lets threads call plain functions in the host, and wait for what they return."""

    def __init__(self) -> None:
        self._host = host()

    def __call__(self, function: Callable[[*Ts], T], *args: *Ts) -> T:
        """What the function returns or raises; `BrokenError` when the program is at its end."""
        answer: Future[T] = Future()

        def run() -> None:
            if not self._host.alive:
                answer.set_exception(BrokenError("the program ends"))
                return
            try:
                answer.set_result(function(*args))
            except RainError as error:  # of the request, and told to whoever made it
                answer.set_exception(error)
            except BaseException as error:
                answer.set_exception(BrokenError("the program fails"))
                self._host.fail(error)
                raise

        try:
            self._host.loop.call_soon_threadsafe(run)
        except RuntimeError:  # the loop is closed
            raise BrokenError("the program ends") from None
        while True:
            try:
                return answer.result(1)
            except TimeoutError:
                if self._host.loop.is_closed():
                    raise BrokenError("the program ends") from None


def in_thread(
    function: Callable[[], T], done: Callable[[outcome.Outcome[T]], object]
) -> threading.Thread:
    """Runs a function that blocks in a thread of its own; `done` is then called in the host."""
    program = host()

    def finish(result: outcome.Outcome[T]) -> None:
        if program.alive:
            done(result)

    def run() -> None:
        result = outcome.capture(function)
        try:
            program.loop.call_soon_threadsafe(finish, result)
        except RuntimeError:  # the program has ended, and nobody wants it any more
            return

    thread = threading.Thread(target=run, name=f"rain-{function.__name__}", daemon=True)
    thread.start()
    return thread
