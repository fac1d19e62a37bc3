"""Shuffles: inputs are split into pieces, and each part is made of one piece of each input.

The pieces of an input are one object of the cluster, and all of these objects together are one
exchange, of which tasks read a part (rain/base/exchange.py). So a shuffle of 1,000 inputs into
1,000 parts has 2,001 tasks, and none of its million pieces is an object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen

from rain.base.exchange import EXCHANGE, LISTED
from rain.base.resources import CPUS
from rain.client.data import DataObject
from rain.client.future import Future
from rain.client.handles import quick_task
from rain.client.options import Options
from rain.client.shapes import ObjectShape, TaskShape
from rain.client.stack import here
from rain.client.task import Task
from rain.common.errors import RainException
from rain.common.partitioned import PARTITIONED
from rain.common.splitting import Split, pieces_of

if TYPE_CHECKING:
    from rain.client.futures.futures import Futures
    from rain.client.session import Session

MOST_PARTS = 1 << 20

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

    def __init__(self, future: Future[Any], parts: int) -> None:
        self._future = future
        self._parts = parts

    def part(self, number: int) -> Any:
        """One part, as an argument of a call; anywhere else it means nothing.

        The function gets an iterable of its pieces, in the order of the inputs. They are read while
        it runs, and only a few of them are in memory at a time.
        """
        if not 0 <= number < self._parts:
            raise IndexError(f"there are {self._parts} parts, and none with the number {number}")
        return Part(self._future.handle, number)

    def __len__(self) -> int:
        return self._parts

    def __iter__(self) -> Iterator[Any]:
        return map(self.part, range(self._parts))

    def __repr__(self) -> str:
        return f"<Exchange of {self._parts} parts>"


@frozen(eq=False, repr=False)
class Part:
    """One part of an exchange, as an argument of calls."""

    _list: DataObject  # of the exchange
    number: int

    def __reduce__(self) -> tuple[Any, ...]:
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


def exchange(
    futures: Futures,
    inputs: Iterable[Any],
    split: Callable[..., Any],
    parts: int,
    options: Options,
) -> Exchange:
    """Splits each input by a call of its own."""
    if type(parts) is not int or not 0 < parts <= MOST_PARTS:
        raise RainException(f"parts is a number from 1 to {MOST_PARTS:,}, not {parts!r}")
    around = evolve(options, surrounding=Splitting(parts))
    pieces = [futures.call(split, (value,), {}, around) for value in inputs]
    task = exchange_task(futures.session, [one.handle for one in pieces], options.priority)
    return Exchange(futures.added(task), parts)


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
