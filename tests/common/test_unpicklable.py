"""What is said of values that cannot be sent."""

from __future__ import annotations

import asyncio
import pickle
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from multiprocessing import Queue
from typing import Any
from weakref import ref

import pytest

from rain.common.by_value import travels
from rain.common.unpicklable import UNPICKLABLE, what_cannot_be_sent

STAY = "Locks, connections and open files cannot be pickled: make them in the function."


class Database:
    """Has a connection, and a lock that stays here when it is pickled."""

    def __init__(self) -> None:
        self.name = "a database"
        self.lock = threading.Lock()
        self.connection = sqlite3.connect(":memory:")

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "lock"}


class InSlots:
    """Has no dictionary."""

    __slots__ = ("first", "second")

    def __init__(self, first: object, second: object) -> None:
        self.first, self.second = first, second


def numbers() -> Iterator[int]:
    yield 1


def told(value: object) -> str:
    """What is said of a value after pickle has refused it."""
    with pytest.raises(UNPICKLABLE) as caught:
        pickle.dumps(value)
    return what_cannot_be_sent(value, caught.value)


@pytest.fixture
def database() -> Iterator[Database]:
    made = Database()
    yield made
    made.connection.close()


def test_the_innermost_part_is_named_as_python_writes_it(database: Database) -> None:
    value = {"all": [1, InSlots(2, database)]}
    assert told(value) == f": its value['all'][1].second.connection is a Connection. {STAY}"
    assert told(database) == f": its value.connection is a Connection. {STAY}"
    assert told(threading.Lock()) == f". {STAY}"


def test_a_value_with_a_name_is_told_with_it() -> None:
    lock = threading.Lock()
    assert what_cannot_be_sent(lock, TypeError(), "lock") == f": lock is a lock. {STAY}"
    assert what_cannot_be_sent([lock], TypeError(), "locks") == f": locks[0] is a lock. {STAY}"


@pytest.mark.parametrize(
    ("make", "advice"),
    [
        (numbers, "make a list of it"),
        (lambda: ContextVar[str]("user"), "Read it before the call, and pass its value"),
        (threading.local, "make them in the function"),
        (Queue, "make them in the function"),
    ],
)
def test_it_is_said_what_to_do(make: Callable[[], Any], advice: str) -> None:
    assert advice in told([make()])


def test_what_no_other_process_can_import_is_put_into_a_module() -> None:
    error = pickle.PicklingError("Can't pickle U: attribute lookup U on __main__ failed")
    assert what_cannot_be_sent(len, error) == (
        ". Put it into a module beside the script, from which tasks import it."
    )


def test_a_weak_reference_is_named() -> None:
    value = [ref(threading.Event())]
    with pytest.raises(TypeError) as raised:
        pickle.dumps(value)
    told = ": it has a weak reference. Send the object itself, or make the reference there."
    assert what_cannot_be_sent(value, raised.value) == told


def test_a_coroutine_is_to_be_awaited() -> None:
    waiting = asyncio.sleep(1)
    assert ". An awaitable cannot be pickled: await it" in told(waiting)
    waiting.close()


def test_what_is_nested_too_deeply_is_not_looked_into() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert told(deep) == ": it is nested too deeply for pickle."


def test_a_value_that_contains_itself_is_not_looked_into_again() -> None:
    circle: list[Any] = [threading.Lock()]
    circle.insert(0, circle)
    assert told(circle) == f": its value[1] is a lock. {STAY}"


def test_what_can_be_pickled_travels() -> None:
    assert travels([1, numbers])
    assert not travels([threading.Lock()])
