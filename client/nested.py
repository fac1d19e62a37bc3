"""The client of a running task: tasks submit tasks."""

import os
import threading
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, overload

from rain.base.admission import TLS_FILE
from rain.base.executor_protocol import SERVER
from rain.base.ids import TaskId
from rain.client.client import Client
from rain.client.environments import inherited
from rain.client.future import Future
from rain.client.futures.futures import Futures
from rain.client.references import note_tasks
from rain.client.remote import Remote
from rain.client.session import Session
from rain.common.errors import RainException
from rain.common.running import running_call
from rain.common.secret_file import VARIABLE as SECRET_FILE
from rain.common.then import Then

P = ParamSpec("P")
R = TypeVar("R")


class TaskClient(Client):
    """The client of the tasks that one process runs, one after the other.

    What a task submits belongs to it: it is cancelled when the task ends, in whatever way.
    """

    _call: tuple[int, int] | None = None
    _is_of_tasks = True
    # While there is a governor, there is a server, or there will be one again.
    _is_patient = True

    def __init__(self, address: str = "", **settings: Any) -> None:
        super().__init__(address, env=inherited(), **settings)

    def open_futures(self) -> Futures:
        """Those of the running task."""
        call = _running()
        if call != self._call:
            with self._opening:
                if call != self._call:
                    former, self._futures = self._futures, None
                    self._call = call
                    if former is not None:
                        self._leave(former)
        return super().open_futures()

    def _leave(self, former: Futures) -> None:
        """The run before has ended, and its session with it.

        This client may be given the same objects again. So what it had of them before is told now,
        or never.
        """
        former.stop()
        self.housekeeper.open_sessions.discard(former.session.session_id)
        self.housekeeper.flush()

    def _parent(self) -> TaskId:
        """The running task, to which new sessions belong."""
        return TaskId(_running()[0])

    def close(self) -> None:
        """Does nothing: the next task of this process needs the connection, too."""


def _running() -> tuple[int, int]:
    call = running_call()
    if call is None:
        raise RainException(
            "this client belongs to a task that has ended, or the task was interrupted"
        )
    return call


Given = Callable[[], TaskClient] | None

_given: Given = None


def install(given: Given) -> Given:
    """In local mode: sets the function that returns the client of the running call; returns the old
    one.
    """
    global _given  # one call runs at a time
    before, _given = _given, given
    return before


def is_in_a_task() -> bool:
    """Whether this process runs tasks, so that `process_client` has a client."""
    return _given is not None or bool(os.environ.get(SERVER, ""))


_clients: dict[str, TaskClient] = {}  # of this process, by the address of the server
_lock = threading.Lock()


def get_client() -> Client:
    """Returns the client of the running task, which can submit further tasks.

    A task that waits for its tasks lends its cpus to them, so it may wait even on a single cpu.
    What it has submitted is cancelled when it ends.

    >>> from rain.client import Client, get_client
    >>> def fib(n):
    ...     if n < 2:
    ...         return n
    ...     client = get_client()
    ...     a, b = client.map(fib, [n - 1, n - 2])
    ...     return a.result() + b.result()
    >>> with Client(cpus=1) as client:
    ...     client.submit(fib, 4).result()
    3
    """
    if running_call() is None:
        raise RainException(
            "get_client, and a client that was pickled, give the client of the running task;"
            " elsewhere use Client()"
        )
    return process_client()


@overload
def then(fn: Future[R], /) -> R: ...
@overload
def then(fn: Remote, /, *args: Any, **kwargs: Any) -> Any: ...
@overload
def then(fn: Callable[..., R], a: Future[Any], /, *args: Any, **kwargs: Any) -> R: ...
@overload
def then(fn: Callable[..., R], a: Any, b: Future[Any], /, *args: Any, **kwargs: Any) -> R: ...
@overload
def then(fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R: ...


def then(fn: Callable[..., Any] | Future[Any], /, *args: Any, **kwargs: Any) -> Any:
    """Makes the result of another call that of the running task: `return then(fn, ...)`.

    The result of the task will be that of the call. The task does not wait for it: its process and
    its cpus are free at once. So a loop of any length can be written as calls of which each hands
    on to the next one. Instead of a function it may be a future of a call that was made before.

    >>> from rain.client import Client, then
    >>> def halve(n, steps=0):
    ...     if n == 1:
    ...         return steps
    ...     return then(halve, n // 2, steps + 1)
    >>> with Client(cpus=1) as client:
    ...     client.submit(halve, 1000).result()
    9
    """
    if running_call() is None:
        raise RainException("then is for functions that run as tasks, which return it")
    if isinstance(fn, Future):
        if args or kwargs:
            raise RainException("then: a future has its arguments already: write then(future)")
        future: Future[Any] = fn
    else:
        future = process_client().submit(fn, *args, **kwargs)
    return Then(future)


def task_session(ctx: Any) -> Session:
    """The session of the running task, so that a function can submit tasks to it.

    What it submits goes on when the task has ended. Until then it counts as deeper than the task,
    which may wait for it, as for what `get_client` submits.

    >>> @remote()
    ... def grow(ctx):
    ...     session = task_session(ctx)
    ...     with session.bind_only():
    ...         text = tasks.Concat((blob("ra"), blob("in")))
    ...     return session.compute(text).get_str()
    >>> session.compute(grow()).get_str()
    'rain'
    """
    if not is_in_a_task():
        raise RainException("task_session is for functions that run as tasks")
    return process_client().join_session(ctx.spec.id.session_id)


def process_client() -> Client:
    """The client of this process, which is an executor."""
    if _given is not None:
        return _given()
    address = os.environ[SERVER]
    with _lock:
        client = _clients.get(address)
        if client is None or client.housekeeper.closed:
            # A governor hands on its secret and its certificate. Without both it is `--insecure`.
            insecure = not (os.environ.get(SECRET_FILE) or os.environ.get(TLS_FILE))
            client = _clients[address] = TaskClient(address, insecure=insecure)
        return client


def _futures_of_task() -> Futures:
    return process_client().open_futures()


note_tasks(_futures_of_task)
