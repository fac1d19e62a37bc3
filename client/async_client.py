"""A client for asyncio and trio. It has the same futures as `Client`, and nothing that blocks the
loop.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import partial
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Self, TypeVar

from rain.client.client import Client
from rain.client.display.showing import LINES_PER_SECOND
from rain.client.explaining.misspelled import SaysWhatIsMeant, expect_known
from rain.client.explaining.tracebacks import hide_frames
from rain.client.future import Future
from rain.client.futures import waiting
from rain.client.futures.fetching_ahead import FetchingAhead
from rain.client.futures.submitting import Submitting
from rain.client.in_loops import Mailbox, in_thread
from rain.client.nested import get_client
from rain.common.errors import RainException
from rain.common.running import in_a_task, waiting_for_tasks, was_interrupted

if TYPE_CHECKING:
    from rain.client.futures.futures import Futures

T = TypeVar("T")


class AsyncClient(Submitting, SaysWhatIsMeant):
    """A client for asyncio and trio programs; it takes the arguments of `Client`.

    In a task, without arguments, it is the client of the running task, as `get_client` gives it.

    `submit`, `map` and `options` return at once, as those of `Client` do, and give futures that are
    awaited. Cancelling a wait cancels the call. Arguments are sent as they are at the call, so the
    loop waits while they are pickled, but not while they are uploaded. `await client.put(value)`
    pickles a large one in a thread.

    >>> import asyncio
    >>> from rain.client import AsyncClient
    >>> async def main():
    ...     async with AsyncClient(cpus=1) as client:
    ...         return await client.submit(pow, 2, 5)
    >>> asyncio.run(main())
    32
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        expect_known("AsyncClient", kwargs, inspect.signature(Client).parameters)
        of_task = in_a_task() and not args and not kwargs
        self._make: Callable[[], Client] = (
            get_client if of_task else partial(Client, *args, **kwargs)
        )
        self._client: Client | None = None

    @property
    def client(self) -> Client:
        """The client that blocks, for sessions and everything else.

        >>> import asyncio
        >>> async def main():
        ...     async with AsyncClient(cpus=1) as client:
        ...         return len(client.client.get_server_info()["governors"])
        >>> asyncio.run(main())
        1
        """
        if self._client is None:
            raise RainException("the client is open only inside of `async with`: use it there")
        return self._client

    def open_futures(self) -> Futures:
        """The open futures of the blocking client."""
        return self.client.open_futures()

    def __await__(self) -> NoReturn:
        raise TypeError(
            "an AsyncClient cannot be awaited: write async with AsyncClient() as client; in a"
            " notebook use Client(), whose futures can be awaited"
        )

    async def __aenter__(self) -> Self:
        self._client = await in_thread(self._make)
        await in_thread(self._client.open_futures)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        client, self._client = self._client, None
        if client is not None:
            await in_thread(client.close, shielded=True)

    def show_output(self, on: bool = True, *, lines_per_second: float = LINES_PER_SECOND) -> None:
        """Shows here what tasks print, while they run; see `Client.show_output`.

        >>> import asyncio
        >>> async def main():
        ...     async with AsyncClient(cpus=1) as client:
        ...         client.show_output()
        ...         await client.submit(print, "hello")
        >>> asyncio.run(main())  # doctest: +SKIP
        [print 1/2 127.0.0.1:38571] hello
        """
        self.client.show_output(on, lines_per_second=lines_per_second)

    async def put(self, value: T, name: str = "value") -> Future[T]:
        """Uploads a value, to be given to many calls.

        >>> import asyncio
        >>> async def main():
        ...     async with AsyncClient(cpus=1) as client:
        ...         table = await client.put({"a": 1})
        ...         return await client.submit(len, table)
        >>> asyncio.run(main())
        1
        """
        return await in_thread(partial(self.client.put, value, name))

    async def upload(self, path: str | PathLike[str]) -> list[str]:
        """Uploads your own modules; see `Client.upload`.

        >>> import asyncio
        >>> from pathlib import Path
        >>> _ = Path("helpers.py").write_text("def double(x): return 2 * x")
        >>> async def main():
        ...     async with AsyncClient(cpus=1) as client:
        ...         return await client.upload("helpers.py")
        >>> asyncio.run(main())
        ['helpers']
        """
        return await in_thread(partial(self.client.upload, path))

    async def gather(self, futures: Any, *, errors: str = "raise") -> Any:
        """The results of futures in lists, tuples, sets and dictionaries, in their places.

        Raises the first failure as soon as it is known; "skip" and "return" as in `Client.gather`.

        >>> import asyncio
        >>> async def main():
        ...     async with AsyncClient(cpus=1) as client:
        ...         return await client.gather(client.map(abs, [-1, -2]))
        >>> asyncio.run(main())
        [1, 2]
        """
        futures = waiting.in_container(futures)
        found = waiting.futures_in(futures)
        with FetchingAhead(found) as ahead:
            try:
                async for future in self.as_completed(found):
                    if errors == "raise" and future.status != "finished":
                        break
            except BaseException:
                if not was_interrupted():
                    for future in found:
                        future.cancel()
                raise
            try:
                return await in_thread(partial(waiting.gathered, futures, ahead, errors))
            except BaseException as error:
                hide_frames(error)
                raise

    def as_completed(self, futures: Iterable[Future[T]]) -> AsCompleted[T]:
        """Yields each future once, as soon as it is done, for `async for`.

        Cancelling the wait cancels the calls that it waits for.

        >>> import asyncio
        >>> async def main():
        ...     async with AsyncClient(cpus=1) as client:
        ...         futures = client.map(abs, [-1, -2])
        ...         return sum([await future async for future in client.as_completed(futures)])
        >>> asyncio.run(main())
        3
        """
        return AsCompleted(futures)

    def __repr__(self) -> str:
        return f"<AsyncClient{' closed' if self._client is None else ''}>"


class AsCompleted(Generic[T]):
    """Futures as they get done. It may be left in the middle: there is nothing to be closed."""

    def __init__(self, futures: Iterable[Future[T]]) -> None:
        chosen = list(futures)
        for home in {id(future.home): future.home for future in chosen}.values():
            home.sending.send_or_leave()
        self._arrivals: Mailbox[Future[T]] = Mailbox()
        self._left = len(chosen)
        self._held = set(chosen)  # nobody else may have them
        for future in chosen:
            future.when_done(self._arrivals.put)
            future.want()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Future[T]:
        if not self._left:
            raise StopAsyncIteration
        try:
            with waiting_for_tasks():
                future = await self._arrivals.get()
        except BaseException:
            if not was_interrupted():
                for waited in self._held:
                    waited.cancel()
            raise
        self._left -= 1
        self._held.discard(future)
        return future
