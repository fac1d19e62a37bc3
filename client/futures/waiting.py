"""Waiting for several futures: for some of them, for one after the other, for all results."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from queue import Empty, SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING, Any, NoReturn, TypeGuard, TypeVar, cast

from rain.client.explaining.misspelled import SaysWhatIsMeant, names_misspelled
from rain.client.explaining.other_systems import METHODS_OF_OTHER_LOOPS
from rain.client.explaining.tracebacks import hide_frames
from rain.client.future import Future
from rain.client.futures.fetching_ahead import FetchingAhead
from rain.client.futures.working import Working
from rain.client.guards import check_timeout, is_mapping
from rain.common.running import in_a_task, waiting_for_tasks

T = TypeVar("T")


class AsCompleted(SaysWhatIsMeant, Iterator[Future[T]]):
    """Futures as they get done; `as_completed` makes it. Others may be added meanwhile."""

    methods_of_others = METHODS_OF_OTHER_LOOPS

    def __init__(self, futures: Iterable[Future[T]], timeout: float | None) -> None:
        check_timeout(timeout)
        self._left = _each_once(futures)  # not given yet
        self._due = None if timeout is None else monotonic() + timeout
        self._going: Generator[Future[T], None, None] | None = None

    def add(self, future: Future[T]) -> None:
        """This future is waited for, too: each that is done may let one more begin.

        >>> numbers = iter(range(6))
        >>> running = as_completed([client.submit(abs, next(numbers)) for _ in range(2)])
        >>> for future in running:  # never more than two at a time
        ...     for number in itertools.islice(numbers, 1):
        ...         running.add(client.submit(abs, number))
        """
        self.update([future])

    def update(self, futures: Iterable[Future[T]]) -> None:
        """Adds several futures, as `add` does one."""
        self._left.update(_each_once(futures))
        self._stop()

    if not TYPE_CHECKING:  # type checkers see no such method

        def __aiter__(self) -> _InALoop:
            return _InALoop()

    def __next__(self) -> Future[T]:
        if self._going is None:
            timeout = None if self._due is None else max(self._due - monotonic(), 0.0)
            self._going = _as_completed(list(self._left), timeout)
        try:
            future = next(self._going)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                _cancel(self._left)
            self._stop()
            hide_frames(error)
            raise
        del self._left[future]
        return future

    def _stop(self) -> None:
        if self._going is not None:
            self._going.close()
            self._going = None


def _each_once(futures: Iterable[Future[T]]) -> dict[Future[T], None]:
    given = list(futures)
    expect_futures("as_completed", given)
    return dict.fromkeys(given)


@names_misspelled
def as_completed(futures: Iterable[Future[T]], timeout: float | None = None) -> AsCompleted[T]:
    """Yields each future once, as soon as it is done; `TimeoutError` after `timeout` seconds.

    Ctrl-C cancels those that it waits for. While the loop goes on, its `add` takes further futures.

    >>> from rain.client import Client, as_completed
    >>> with Client(cpus=1) as client:
    ...     squares = client.map(lambda x: x * x, range(3))
    ...     sorted(future.result() for future in as_completed(squares))
    [0, 1, 4]
    """
    return AsCompleted(futures, timeout)


class _InALoop:
    """The iterator for `async for`, which raises with advice. Bars of tqdm ask for it, too."""

    async def __anext__(self) -> NoReturn:
        raise TypeError(
            "this is a plain loop: write async for future in client.as_completed(futures), with an"
            " AsyncClient"
        )


def _as_completed(
    chosen: list[Future[T]], timeout: float | None
) -> Generator[Future[T], None, None]:
    working = send_all(chosen, timeout)
    if working is not None:
        yield from working.one_by_one()
        return
    due = None if timeout is None else monotonic() + timeout
    # Those that are done come in their order, which `concurrent.futures` does not keep: so a loop
    # that reads them goes from each one to the next, and these are fetched ahead (`loops.py`).
    left = dict.fromkeys(chosen)
    total = len(left)
    for future in [one for one in left if one.has_ended]:
        del left[future]
        yield future
    standard: list[concurrent.futures.Future[T]] = [*left]
    rest = None if due is None else max(due - monotonic(), 0)
    completed = concurrent.futures.as_completed(standard, rest)
    while True:
        try:
            with waiting_for_tasks():
                ended = cast("Future[T] | None", next(completed, None))
        except TimeoutError:
            raise TimeoutError(f"{len(left)} (of {total}) futures unfinished") from None
        if ended is None:
            return
        del left[ended]
        yield ended


def wait(
    futures: Future[T] | Iterable[Future[T]],
    num_returns: int | None = None,
    timeout: float | None = None,
) -> tuple[list[Future[T]], list[Future[T]]]:
    """Waits until `num_returns` of them are done, or all; gives that number, and the others.

    Both lists keep the order. After `timeout` seconds the first one may be shorter.
    """
    check_timeout(timeout)
    chosen = each_of(futures)
    wanted = len(chosen) if num_returns is None else num_returns
    if not 0 <= wanted <= len(chosen):
        raise ValueError(f"num_returns is {wanted}, and there are {len(chosen)} futures")
    try:
        places = _first_done(chosen, wanted)
        if len(places) < wanted:
            _until_done(chosen, wanted, timeout)
            places = _first_done(chosen, wanted)
    except AttributeError:  # to look at all of them each time would slow down loops
        expect_futures("wait", chosen)
        raise
    others: list[Future[T]] = []
    start = 0
    for place in places:
        others += chosen[start:place]
        start = place + 1
    return [chosen[place] for place in places], others + chosen[start:]


def each_of(futures: Future[T] | Iterable[Future[T]]) -> list[Future[T]]:
    """A list of them; also of a single one."""
    return [futures] if isinstance(futures, Future) else list(futures)


def expect_futures(function: str, given: Iterable[object]) -> None:
    """TypeError for the first of these that is no future of a client."""
    for one in given:
        if isinstance(one, concurrent.futures.Future) and not isinstance(one, Future):
            raise TypeError(
                f"{function} takes futures of a client, and {one!r} is one of another executor:"
                f" write concurrent.futures.{function}, which takes both"
            )
        if not isinstance(one, Future):
            raise TypeError(f"{function} takes futures in one list, and not {type(one).__name__!r}")


def _first_done(futures: Sequence[Future[Any]], wanted: int) -> list[int]:
    """The places of the first ones that are done. A loop that takes one by one looks at few."""
    return list(islice((at for at, one in enumerate(futures) if one.has_ended), wanted))


def _until_done(futures: Sequence[Future[T]], wanted: int, timeout: float | None) -> None:
    """Until that number of them are done, or the time is over.

    It listens once at the clients of the futures, which report each end. A waiter at each future
    would cost a program that takes one result after the other a lock, a waiter and their removal
    for each remaining future, each time.
    """
    working = send_all(futures, timeout)
    if working is not None:
        with suppress(TimeoutError):
            for _ in islice(working.one_by_one(), wanted):
                pass
        return
    due = None if timeout is None else monotonic() + timeout
    ended: SimpleQueue[concurrent.futures.Future[Any]] = SimpleQueue()
    homes = {id(future.home): future.home for future in futures}.values()
    for home in homes:
        home.at_each_end.append(ended.put)
    try:
        each = set(futures)
        left = {future for future in each if not future.has_ended}
        most = max(len(each) - wanted, 0)  # that may be left
        with waiting_for_tasks(), suppress(Empty):
            while len(left) > most:
                left.discard(ended.get(timeout=None if due is None else max(due - monotonic(), 0)))
    except KeyboardInterrupt:
        _cancel(futures)
        raise
    finally:
        for home in homes:
            home.at_each_end.remove(ended.put)


def gather(given: Any, *, errors: str = "raise", timeout: float | None = None) -> Any:
    """The results of futures in lists, tuples, sets and values of dictionaries, in their places.

    With `errors="raise"` the first failure is raised as soon as it is known; with "skip" failed
    ones are left out, with "return" the exceptions take their places.
    """
    check_timeout(timeout)
    futures = in_container(given)
    with FetchingAhead(futures_in(futures)) as ahead:
        return gathered(futures, ahead, errors, timeout)


def gathered(futures: Any, ahead: FetchingAhead, errors: str, timeout: float | None = None) -> Any:
    """Gathers as `gather` does, while `ahead` fetches the results of finished futures."""
    if errors not in {"raise", "skip", "return"}:
        raise ValueError(f'errors is {errors!r}; it must be "raise", "skip" or "return"')
    found = ahead.futures
    working = send_all(found, timeout)
    if errors == "raise":
        when = concurrent.futures.FIRST_EXCEPTION
    else:
        when = concurrent.futures.ALL_COMPLETED
    try:
        with waiting_for_tasks():
            if working is None:
                done, pending = concurrent.futures.wait(found, timeout, when)
            else:
                done, pending = working.until_all(stop_at_failure=errors == "raise")
    except KeyboardInterrupt:
        _cancel(found)
        raise
    if pending:
        if errors == "raise":
            _raise_failure(done)
        raise TimeoutError(f"{len(pending)} of {len(found)} futures are not done after {timeout} s")
    ahead.all_have_ended()
    return _replaced(futures, errors, ahead)


def _raise_failure(done: Iterable[concurrent.futures.Future[Any]]) -> None:
    """Raises that of one that has failed or was cancelled; the results of others are not read."""
    for future in done:
        if future.cancelled() or future.exception() is not None:
            future.result()


def in_container(given: Any) -> Any:
    """The argument of `gather`. An iterator, and another collection, become a list."""
    if _is_future(given) or is_mapping(given) or _is_collection(given):
        return given
    has_items = isinstance(given, Iterator | Collection)
    listed: list[Any] = [*given] if has_items else [given]
    if listed and not futures_in(listed):
        raise TypeError(
            "gather takes futures, or lists, tuples, sets and dictionaries of them, and not"
            f" {type(given).__name__!r}"
        )
    return listed


def futures_in(item: Any) -> list[Future[Any]]:
    """All futures in containers, in any depth."""
    found: list[Future[Any]] = []
    _find(item, found)
    return found


def _find(item: Any, found: list[Future[Any]]) -> None:
    if _is_future(item):
        found.append(item)
    elif is_mapping(item):
        for value in item.values():
            _find(value, found)
    elif _is_collection(item):
        for value in item:
            _find(value, found)


_SKIPPED = object()


def _replaced(item: Any, errors: str, ahead: FetchingAhead) -> Any:
    if _is_future(item):
        ahead.reach(item)
        return _outcome(item, errors)
    if is_mapping(item):
        replaced = {key: _replaced(value, errors, ahead) for key, value in item.items()}
        return {key: value for key, value in replaced.items() if value is not _SKIPPED}
    if _is_collection(item):
        values = [_replaced(value, errors, ahead) for value in item]
        kept = [value for value in values if value is not _SKIPPED]
        kind: Any = type(item)  # a named tuple takes its fields one by one
        is_named = hasattr(kind, "_fields") and len(kept) == len(values)
        return kind(*kept) if is_named else kind(kept)
    return item


def _is_future(item: object) -> TypeGuard[Future[Any]]:
    return isinstance(item, Future)


def _is_collection(item: object) -> TypeGuard[Collection[Any]]:
    return isinstance(item, list | tuple | set | frozenset)


def _outcome(future: Future[Any], errors: str) -> Any:
    if errors == "raise":
        return future.result()
    try:
        return future.result()
    # Whatever the call has raised is what the user asks for, or wants to leave out.
    except Exception as error:  # noqa: BLE001
        return _SKIPPED if errors == "skip" else error


def send_all(futures: Sequence[Future[Any]], timeout: float | None = None) -> Working | None:
    """Calls that were not sent yet are sent, of each client once.

    Gives what runs calls while somebody waits, if a cluster is in this process.
    """
    homes = {id(future.home): future.home for future in futures}.values()
    are_here = False
    for home in homes:
        if home.sending.is_interrupted_here:
            _expect_free(futures)
        home.sending.send()
        are_here = are_here or home.here is not None
    return Working(futures, homes, timeout) if are_here else None


def _expect_free(futures: Sequence[Future[Any]]) -> None:
    """In a signal handler: refuses to wait for a result that could never come."""
    for future in futures:
        if not future.is_done():
            future.home.sending.expect_free(future.handle)


def _cancel(futures: Iterable[Future[Any]]) -> None:
    if in_a_task():
        return  # what becomes of these was said where that task was cancelled
    for future in futures:
        future.cancel()
