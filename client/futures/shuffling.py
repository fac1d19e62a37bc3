"""Shuffles: inputs are split into pieces, and each part is made of one piece of each input.

The pieces of an input are one object of the cluster, and all of these objects together are one
exchange, of which tasks read a part (rain/base/exchange.py). So a shuffle of 1,000 inputs into
1,000 parts has 2,001 tasks, and none of its million pieces is an object.

In several rounds an exchange is made for each group of inputs. When those of a group are split, a
task for each part collects its pieces where the part will be merged, while later inputs are still
being made. What the last group makes is read by the merging tasks themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import evolve, frozen

from rain.base.constraints import Constraints
from rain.base.exchange import EXCHANGE, LISTED
from rain.base.resources import CPUS
from rain.client.data import DataObject
from rain.client.explaining.stack import here
from rain.client.future import Future
from rain.client.handles import quick_task
from rain.client.options import Options
from rain.client.shapes import ObjectShape, TaskShape
from rain.client.task import Task
from rain.common.errors import RainException
from rain.common.partitioned import COLLECTED, PARTITIONED
from rain.common.splitting import Split, collect, pieces_in_rounds, pieces_of

if TYPE_CHECKING:
    from rain.client.futures.futures import Futures
    from rain.client.session import Session

MOST_PARTS = 1 << 20

MOST_ROUNDS = 100
"""There is a task for each part and round."""

T = TypeVar("T")

_LIST = ObjectShape("exchange", LISTED)


class Exchange:
    """Inputs that are being split into parts; `client.exchange` makes it.

    >>> def split(numbers, parts):
    ...     return [[number for number in numbers if number % parts == i] for i in range(parts)]
    >>> numbers = client.exchange([range(4), range(4, 8)], split, parts=2)
    >>> len(numbers)
    2
    >>> client.submit(lambda pieces: sum(map(sum, pieces)), numbers.part(1)).result()
    16
    """

    def __init__(
        self, futures: Futures, lists: list[Future[Any]], parts: int, priority: int
    ) -> None:
        self._futures = futures
        self._priority = priority
        self._lists = lists  # one for each round
        self._parts = parts
        self._collected: dict[int, list[Future[Any]]] = {}  # by the numbers of parts

    def part(self, number: int) -> Any:
        """One part, as an argument of a call; anywhere else it means nothing.

        The function gets an iterable of its pieces, in the order of the inputs. They are read while
        it runs, and only a few of them are in memory at a time.
        """
        if not 0 <= number < self._parts:
            raise IndexError(f"there are {self._parts} parts, and none with the number {number}")
        *early, last = self._lists
        if early and number not in self._collected:
            self._collected[number] = self._collecting(early, number)
        collected = [future.handle for future in self._collected.get(number, ())]
        return Part(last.handle, number, tuple(collected))

    def _collecting(self, lists: list[Future[Any]], number: int) -> list[Future[Any]]:
        """One call for each of the first rounds. The calls of a part have a preference for one
        place.
        """
        anywhere = Options(
            name="collect",
            resources=((CPUS, 0),),  # it waits for the network
            constraints=Constraints(spread=f"exchange {lists[0].handle.id}"),
            priority=self._priority,
            surrounding=Collecting(),
        )
        made: list[Future[Any]] = []
        for one in lists:
            options = evolve(anywhere, constraints=None) if made else anywhere
            before = made[-1] if made else None
            part = Part(one.handle, number)
            made.append(self._futures.call(collect, (part, before), {}, options))
        return made

    def __len__(self) -> int:
        return self._parts

    def __iter__(self) -> Iterator[Any]:
        return map(self.part, range(self._parts))

    def __repr__(self) -> str:
        return f"<Exchange of {self._parts} parts>"


@frozen(eq=False, repr=False)
class Part:
    """One part of an exchange, as an argument of calls."""

    _list: DataObject  # of the exchange, of the last one if there are several rounds
    number: int
    _collected: tuple[DataObject, ...] = ()  # in the rounds before

    def __reduce__(self) -> tuple[Any, ...]:
        if self._collected:
            return pieces_in_rounds, (self._collected, self._list, self.number)
        return pieces_of, (self._list, self.number)

    def __repr__(self) -> str:
        return f"<Part {self.number} of an exchange>"


@frozen
class Splitting:
    """The wrapper of a function that splits; equal wrappers do the same."""

    parts: int
    content_type = PARTITIONED

    @property
    def changes_arguments(self) -> bool:
        return True

    def around(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        return Split(fn, self.parts)


@frozen
class Collecting:
    """The wrapper of the function that collects: what that makes has its own encoding."""

    content_type = COLLECTED

    @property
    def changes_arguments(self) -> bool:
        return False

    def around(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        return fn


def exchange(
    futures: Futures,
    inputs: Iterable[Any],
    split: Callable[..., Any],
    parts: int,
    rounds: int,
    options: Options,
) -> Exchange:
    """Splits each input by a call of its own."""
    if type(parts) is not int or not 0 < parts <= MOST_PARTS:
        raise RainException(f"parts is a number from 1 to {MOST_PARTS:,}, not {parts!r}")
    if type(rounds) is not int or not 0 < rounds <= MOST_ROUNDS:
        raise RainException(f"rounds is a number from 1 to {MOST_ROUNDS}, not {rounds!r}")
    around = evolve(options, surrounding=Splitting(parts))
    splits = [futures.call(split, (value,), {}, around).handle for value in inputs]
    tasks = [
        exchange_task(futures.session, some, options.priority) for some in groups(splits, rounds)
    ]
    return Exchange(futures, [futures.added(task) for task in tasks], parts, options.priority)


def groups(things: Sequence[T], rounds: int) -> list[Sequence[T]]:
    """These in their order, in this number of groups of about the same size.

    None is empty, unless there is nothing at all.
    """
    count = max(min(rounds, len(things)), 1)
    ends = [len(things) * number // count for number in range(count + 1)]
    return [things[first:end] for first, end in pairwise(ends)]


def exchange_task(session: Session, splits: Sequence[DataObject], priority: int) -> Task:
    """The task that lists where pieces are; it is still to be added to its session."""
    shape = TaskShape(
        EXCHANGE,
        "exchange",
        ((CPUS, 0),),
        outputs=(_LIST,),
        priority=priority,
        idempotent=False,
    )
    return quick_task(session, shape, b"", tuple(splits), here(1))
