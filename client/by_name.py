"""Sessions for calls of plain functions: `Client.session` opens them, durable ones also by name
again.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any
from weakref import WeakMethod

from rain.base.errors import RainError
from rain.base.failures import OnFailure
from rain.base.ids import SessionId
from rain.base.wire.requests import CloseSession, DurableTasks
from rain.client.environments import Env
from rain.client.explaining.warn import warn_user
from rain.client.future import Future
from rain.client.futures.futures import Futures
from rain.client.futures.methods import FutureMethods
from rain.common.errors import RainException

if TYPE_CHECKING:
    from rain.client.client import Client


class FutureSession(FutureMethods):
    """A session for calls of plain functions: `Client.session` opens it.

    It has the methods of `Client` for them: `submit`, `map`, `options`, `gather` and so on. It
    ends with its `with` block. What a durable one makes is kept under its name, and its calls go
    on.

    >>> with client.session("squares") as session:
    ...     client.gather(session.map(pow, range(3), [2] * 3))
    [0, 1, 4]
    """

    def __init__(
        self,
        client: Client,
        name: str,
        *,
        durable: bool,
        idempotent: bool = False,
        env: Env | None = None,
    ) -> None:
        super().__init__()
        self.name = name
        self.durable = durable
        self._client = client
        choice = OnFailure.CONTINUE.value
        session = client.new_session(
            name, on_failure=choice, durable=durable, idempotent=idempotent, env=env
        )
        self._session = session
        self._futures = self._new_futures()
        if durable:
            # Its calls are to be on the disk of the server before the connection ends.
            client.housekeeper.at_close.insert(0, _weakly(WeakMethod(self.close)))

    def _new_futures(self) -> Futures:
        return Futures(self._session, self._client.housekeeper)

    def futures(self, name: str | None = None) -> list[Future[Any]]:
        """Futures of all calls of a durable session, in the order in which they were made.

        They are those of all programs that have opened it. With a name, only those of this name.

        >>> with client.session("sweep", durable=True) as session:
        ...     three = session.options(name="three").submit(abs, -3)
        >>> with client.session("sweep", durable=True) as session:
        ...     client.gather(session.futures("three"))
        [3]
        >>> client.remove_session("sweep")
        """
        if not self.durable:
            raise RainException(
                f"the session {self.name!r} is not durable: it has only the futures that you have"
            )
        futures = self.open_futures()
        futures.settle()
        found: list[Future[Any]] = []
        seen, total = 0, 1
        while seen < total:
            with self._session.asking():
                told = self._client.connection.ask(DurableTasks(self.name, seen))
            total = told.total if told.tasks else seen
            seen += len(told.tasks)
            for task in told.tasks:
                if name is None or task.name == name:
                    found += [futures.borrow(made, task.name) for made in task.objects]
        return found

    def close(self) -> None:
        """Ends the session. Of a durable one all calls are on the disk of the server by then.

        >>> other = client.session("short")
        >>> other.close()
        """
        session = self._session
        if not session.active:
            return
        futures = self.open_futures()
        futures.sending.send()
        if self.durable:
            with suppress(RainError):  # the server has gone
                self._client.connection.ask(CloseSession(SessionId(session.session_id)))
            self._client.housekeeper.open_sessions.discard(session.session_id)
            session.leave()
        else:
            session.close()

    def __repr__(self) -> str:
        durable = " durable" if self.durable else ""
        closed = "" if self._session.active else " closed"
        return f"<FutureSession {self.name!r}{durable}{closed}>"


def check_durable(client: Client, name: object, on_failure: str | None) -> None:
    """Raises RainException if a session cannot be durable; warns if the server has no journal."""
    if not isinstance(name, str) or not name or name == "Unnamed Session":
        raise RainException("a durable session needs a name, by which it is opened again")
    if on_failure not in (None, OnFailure.CONTINUE.value):
        raise RainException("a durable session goes on after failures: leave on_failure out")
    if client.connection.returns or client.connection.here is not None:
        return
    if client.housekeeper.cluster is not None:
        raise RainException(
            f"the durable session {name!r} would end with this client, which has a cluster of its"
            " own: connect to a server that runs, or keep results with Client(folder=...)"
        )
    warn_user(
        f"the server at {client.address} has no journal: the durable session {name!r} ends when the"
        " server does; start it with --journal FOLDER",
    )


def _weakly(close: WeakMethod[Any]) -> Any:
    def call() -> None:
        alive = close()
        if alive is not None:
            alive()

    return call
