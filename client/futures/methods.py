"""The methods of a client for futures: uploads of values, waits for results, and executors."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, Self, TypeVar, Unpack, overload

from rain.client.explaining.misspelled import names_misspelled
from rain.client.explaining.tracebacks import hides_frames
from rain.client.future import Future
from rain.client.futures import waiting
from rain.client.futures.executor import ClusterExecutor
from rain.client.futures.submitting import Submitting
from rain.client.guards import is_mapping
from rain.client.options import OptionWords, chosen

if TYPE_CHECKING:
    from rain.client.futures.futures import Futures

P = ParamSpec("P")
T = TypeVar("T")
K = TypeVar("K")


class FutureMethods(Submitting):
    """The methods of a client for plain functions and futures."""

    def __init__(self) -> None:
        self._opening = threading.RLock()
        self._futures: Futures | None = None

    def open_futures(self) -> Futures:
        """The futures of this client; they begin with the first call."""
        futures = self._futures
        if futures is None:
            with self._opening:
                futures = self._futures = self._futures or self._new_futures()
        return futures

    @abstractmethod
    def _new_futures(self) -> Futures:
        """Makes them, for the first call."""

    @abstractmethod
    def close(self) -> None:
        """Ends it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def executor(
        self,
        max_workers: int | None = None,
        initializer: Callable[..., object] | None = None,
        initargs: tuple[Any, ...] = (),
        **options: Unpack[OptionWords],
    ) -> ClusterExecutor:
        """A `concurrent.futures.Executor` whose calls run on the cluster.

        >>> from rain.client import Client
        >>> with Client(cpus=1) as client, client.executor() as pool:
        ...     list(pool.map(pow, [2, 3], [3, 2], chunksize=2))
        [8, 9]

        Args:
            max_workers: how many of its calls are sent and not done at any time; by default all.
            initializer: is called in each process, before the first call of this executor there.
            initargs: its arguments.
            options: what its calls need, as in `options`.
        """
        needs = chosen("executor", options)
        return ClusterExecutor(self.open_futures(), needs, max_workers, initializer, initargs)

    @hides_frames
    @names_misspelled
    def put(self, value: T, name: str = "value") -> Future[T]:
        """Uploads a value, to be given to many calls.

        A call gets the value where the future is its argument. The value stays on the cluster as
        long as a future of it is there.

        >>> from rain.client import Client
        >>> with Client(cpus=1) as client:
        ...     table = client.put({"a": 1})
        ...     client.submit(len, table).result()
        1

        Args:
            value: anything that can be pickled.
            name: what the dashboard calls it.
        """
        return self.open_futures().put(value, name)

    @overload
    def get(self, futures: Future[T], timeout: float | None = None) -> T: ...
    @overload
    def get(self, futures: Iterable[Future[T]], timeout: float | None = None) -> list[T]: ...

    @hides_frames
    def get(self, futures: Any, timeout: float | None = None) -> Any:
        """The result of a future, or the results of several in their order.

        Raises the first failure as soon as it is known, and `TimeoutError` after `timeout` seconds.

        >>> client.get(client.submit(pow, 2, 3))
        8
        >>> client.get(client.map(abs, [-1, -2]))
        [1, 2]
        """
        if isinstance(futures, Future):
            return futures.result(timeout)
        if is_mapping(futures):  # of which a list would have the keys
            raise TypeError("get takes a future or a list of futures: write client.gather(futures)")
        return waiting.gather(list(futures), timeout=timeout)

    @overload
    def gather(
        self,
        futures: list[Future[T]],
        *,
        errors: Literal["raise", "skip"] = "raise",
        timeout: float | None = None,
    ) -> list[T]: ...
    @overload
    def gather(
        self,
        futures: dict[K, Future[T]],
        *,
        errors: Literal["raise", "skip"] = "raise",
        timeout: float | None = None,
    ) -> dict[K, T]: ...
    @overload
    def gather(
        self, futures: Any, *, errors: str = "raise", timeout: float | None = None
    ) -> Any: ...

    @hides_frames
    @names_misspelled
    def gather(self, futures: Any, *, errors: str = "raise", timeout: float | None = None) -> Any:
        """The results of futures in lists, tuples, sets and dictionaries, in their places.

        >>> futures = client.map(abs, [-1, -2])
        >>> client.gather({"all": futures, "first": futures[0]})
        {'all': [1, 2], 'first': 1}
        >>> client.gather(client.map(int, ["1", "one", "3"]), errors="skip")
        [1, 3]

        Args:
            futures: futures, or containers of them in any depth. An iterator becomes a list.
            errors: "raise" the first failure as soon as it is known, "skip" what has failed, or
                "return" the exceptions in the places of results.
            timeout: seconds after which `TimeoutError` is raised.
        """
        return waiting.gather(futures, errors=errors, timeout=timeout)

    def progress(self, futures: Future[Any] | Iterable[Future[Any]]) -> None:
        """Waits until all of the futures are done, and shows a bar for each name of calls.

        The bars are for terminals and notebooks. Elsewhere this only waits. Failures are counted
        in the bars and are not raised. Ctrl-C cancels the calls.

        >>> futures = client.map(abs, range(-3, 0))
        >>> client.progress(futures)
        >>> [future.status for future in futures]
        ['finished', 'finished', 'finished']
        """
        from rain.client.futures.progress import show_progress  # noqa: PLC0415 # loads rich

        show_progress(futures)

    @hides_frames
    @names_misspelled
    def wait(
        self,
        futures: Future[T] | Iterable[Future[T]],
        num_returns: int | None = None,
        timeout: float | None = None,
    ) -> tuple[list[Future[T]], list[Future[T]]]:
        """Waits until `num_returns` of the futures are done, all unless said.

        Gives that number of them, the first ones that are done, and the others: a loop may take one
        after the other. After `timeout` seconds fewer may be done.

        >>> done, rest = client.wait(client.map(abs, range(-3, 0)))
        >>> len(done), len(rest)
        (3, 0)
        """
        return waiting.wait(futures, num_returns, timeout)
