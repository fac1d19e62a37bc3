"""The methods of a client for plain functions: `submit`, `map`, `put`, and waiting for results."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, Self, TypeVar, Unpack, overload

from rain.client.explaining.tracebacks import hide_frames, hides_frames
from rain.client.future import Future
from rain.client.futures import shuffling, waiting
from rain.client.futures.executor import ClusterExecutor
from rain.client.futures.shuffling import Exchange
from rain.client.futures.task_function import TaskFunction
from rain.client.guards import is_mapping
from rain.client.options import NO_OPTIONS, Options, OptionWords, chosen
from rain.client.remote import Remote
from rain.common.unpicklable import UNPICKLABLE

if TYPE_CHECKING:
    from rain.client.futures.futures import Futures

P = ParamSpec("P")
T = TypeVar("T")
K = TypeVar("K")


class Submitting:
    """Calls of functions with the same options."""

    _options = NO_OPTIONS

    def open_futures(self) -> Futures:
        """The futures of the client that the calls are made with."""
        raise NotImplementedError

    # Of arguments that are futures the function gets the values, which no signature can say. So
    # calls with a future among the first arguments are not checked.
    @overload
    def submit(self, fn: Remote, /, *args: Any, **kwargs: Any) -> Future[Any]: ...
    @overload
    def submit(
        self, fn: Callable[..., T], a: Future[Any], /, *args: Any, **kwargs: Any
    ) -> Future[T]: ...
    @overload
    def submit(
        self, fn: Callable[..., T], a: Any, b: Future[Any], /, *args: Any, **kwargs: Any
    ) -> Future[T]: ...
    @overload
    def submit(
        self, fn: Callable[..., T], a: Any, b: Any, c: Future[Any], /, *args: Any, **kwargs: Any
    ) -> Future[T]: ...

    @overload
    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]: ...

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Calls a function on the cluster, and gives the future of its result at once.

        The function and its arguments are sent as they are now. Anything that can be called will
        do: a lambda, a method, a class. Futures among the arguments are waited for, and the
        function gets their values; inside of lists or other objects they stay futures. What a call
        needs (cpus, memory, tries) is said before it: `client.options(tries=3).submit(f, x)`.

        >>> from rain.client import Client
        >>> with Client(cpus=1) as client:
        ...     client.submit(pow, 2, 10).result()
        1024

        Args:
            fn: the function.
            args: its arguments: values, or futures of values.
            kwargs: its keyword arguments. All of them go to the function.
        """
        try:
            return self.open_futures().call(fn, args, kwargs, self._options)
        except Exception as error:
            hide_frames(error, *UNPICKLABLE)
            raise

    def map(
        self, fn: Callable[..., T], /, *iterables: Iterable[Any], **kwargs: Any
    ) -> list[Future[T]]:
        """Calls a function for each item, or for each tuple of items; gives the futures in order.

        It returns at once; `client.gather` waits for the results. What the calls need is said
        before them: `client.options(cpus=2).map(f, items)`.

        >>> from rain.client import Client
        >>> with Client(cpus=1) as client:
        ...     client.gather(client.map(pow, [2, 3], [3, 2]))
        ...     client.gather(client.map(int, ["10", "11"], base=2))
        [8, 9]
        [2, 3]

        Args:
            fn: the function.
            iterables: the items of its first argument, of its second one, and so on; the shortest
                says how many calls there are. Items may be futures.
            kwargs: keyword arguments that each call gets; large ones are sent once.
        """
        if not iterables:
            raise TypeError("map needs at least one iterable")
        calls = zip(*iterables, strict=False)
        try:
            return self.open_futures().call_each(fn, calls, kwargs, self._options)
        except Exception as error:
            hide_frames(error, *UNPICKLABLE)
            raise

    def shuffle(
        self,
        inputs: Iterable[Future[Any] | Any],
        split: Callable[[Any, int], Any],
        merge: Callable[[Any], T],
        *,
        parts: int,
        rounds: int = 1,
    ) -> list[Future[T]]:
        """Splits each input into pieces, and makes each part of one piece of each input.

        `split(value, parts)` gives a list with a piece for each part, or a dictionary of pieces by
        the numbers of their parts, and runs once for each input. `merge(pieces)` gets an iterable
        with the pieces of one part, in the order of the inputs, and runs once for each part. The
        futures of the parts are given at once. The inputs may be futures.

        >>> from rain.client import Client
        >>> def split(words, parts):
        ...     return [[word for word in words if len(word) % parts == i] for i in range(parts)]
        >>> def merge(pieces):
        ...     return sorted(word for piece in pieces for word in piece)
        >>> with Client(cpus=1) as client:
        ...     texts = [["to", "be", "or"], ["not", "to", "be"]]
        ...     client.gather(client.shuffle(texts, split, merge, parts=2))
        [['be', 'be', 'or', 'to', 'to'], ['not']]

        Args:
            inputs: values, or futures of them.
            split: makes the pieces of one input.
            merge: makes one part of its pieces.
            parts: how many parts there are.
            rounds: in how many groups the inputs are split; the pieces of a group are collected
                where they will be merged while the next ones are split.
        """
        exchange = self.exchange(inputs, split, parts=parts, rounds=rounds)
        return self.map(merge, exchange)

    @hides_frames
    def exchange(
        self,
        inputs: Iterable[Future[Any] | Any],
        split: Callable[[Any, int], Any],
        *,
        parts: int,
        rounds: int = 1,
    ) -> Exchange:
        """The first half of a shuffle: splits each input, for calls that read the parts.

        So a call can read parts of several exchanges: `client.submit(join, a.part(3), b.part(3))`.
        An exchange without inputs has empty parts.

        >>> from rain.client import Client
        >>> def split(numbers, parts):
        ...     return [[number for number in numbers if number % parts == i] for i in range(parts)]
        >>> with Client(cpus=1) as client:
        ...     a = client.exchange([range(4)], split, parts=2)
        ...     b = client.exchange([range(4, 8)], split, parts=2)
        ...     client.submit(lambda left, right: [*left, *right], a.part(1), b.part(1)).result()
        [[1, 3], [5, 7]]

        Args:
            inputs: values, or futures of them.
            split: makes the pieces of one input, as for `shuffle`.
            parts: how many parts there are.
            rounds: as for `shuffle`.
        """
        return shuffling.exchange(self.open_futures(), inputs, split, parts, rounds, self._options)

    def options(self, **options: Unpack[OptionWords]) -> Submitting:
        """Options for calls: `client.options(cpus=4).submit(f, x)`.

        >>> big = client.options(cpus=2, tries=3, name="power")
        >>> big.submit(pow, 2, 3).result()
        8

        Args:
            name: what the dashboard calls them; by default the name of the function.
            cpus: how many cpus a call needs.
            memory: how much memory it needs, as "2GiB".
            resources: what else it needs, for instance `{"gpus": 1}`.
            duration: the seconds that it is expected to take; a hint for the scheduler.
            constraints: where it may run: `pin`, `spread`, `apart`.
            tries: how often it may be run until it has failed.
            crash_tries: how often its process or its governor may end under it until it has failed.
            memory_tries: how often it may be ended for want of memory until it has failed.
            backoff: seconds from a failed run to the next one; doubled with each further one.
            timeout: seconds that one run may take from its start; then it is interrupted.
            retry_on: exception classes that are worth another try; by default all are.
            priority: from -1000 to 1000; of the waiting calls of this client larger ones go first.
            cache: keep results for other runs of the program: True, or a folder.
            cache_key: what else the results depend on; with another one the function runs again.
            idempotent: it may run twice at a time: a call that is much slower than others of its
                name is run once more elsewhere, and the first run that ends wins.
            env: the environment of the calls, on top of that of the client (see `Env`).
        """
        return WithOptions(self, chosen("options", options))

    def __repr__(self) -> str:
        return f"<Submitting {self._options}>"


class WithOptions(Submitting):
    """Calls of a client with options; `Client.options` makes it."""

    def __init__(self, client: Submitting, options: Options) -> None:
        self._client = client
        self._options = options

    def open_futures(self) -> Futures:
        """Those of the client."""
        return self._client.open_futures()


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

    def _new_futures(self) -> Futures:
        raise NotImplementedError

    def close(self) -> None:
        """Ends it."""
        raise NotImplementedError

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

    def progress(self, futures: Iterable[Future[Any]]) -> None:
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
    def wait(
        self,
        futures: Iterable[Future[T]],
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


@overload
def task(fn: Callable[P, T], /) -> TaskFunction[P, T]: ...
@overload
def task(**options: Unpack[OptionWords]) -> Callable[[Callable[P, T]], TaskFunction[P, T]]: ...
def task(fn: Callable[..., Any] | None = None, /, **options: Unpack[OptionWords]) -> Any:
    """A decorator that sets options, as `Client.options`, for all calls of a function by `submit`.

    `@task` without options changes nothing, and only marks a function that is meant to be
    submitted.

    Called directly, the function stays what it was.

    >>> from rain.client import Client, task
    >>> @task(tries=3)
    ... def double(x: int) -> int:
    ...     return 2 * x
    >>> double(2)
    4
    >>> with Client(cpus=1) as client:
    ...     client.submit(double, 3).result()
    6
    """
    needs = chosen("task", options)
    mark = partial(TaskFunction[..., Any], options=needs)
    return mark if fn is None else mark(fn)
