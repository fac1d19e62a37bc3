"""Calls of plain functions with options: `submit`, `map` and shuffles."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, Unpack, overload

from rain.client.explaining.tracebacks import hide_frames, hides_frames
from rain.client.future import Future
from rain.client.futures import shuffling
from rain.client.futures.shuffling import Exchange
from rain.client.options import NO_OPTIONS, Options, OptionWords, chosen
from rain.client.remote import Remote
from rain.common.unpicklable import UNPICKLABLE

if TYPE_CHECKING:
    from rain.client.futures.futures import Futures

P = ParamSpec("P")
T = TypeVar("T")


class Submitting(ABC):
    """Calls of functions with the same options."""

    _options = NO_OPTIONS

    @abstractmethod
    def open_futures(self) -> Futures:
        """The futures of the client that the calls are made with."""

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
            kwargs: keyword arguments that each call gets; those above 16 KiB are sent once.
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
