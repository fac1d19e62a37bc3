"""What newcomers do with futures and arguments, and what they are told."""

# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false

import asyncio
import random
import re
import threading
import warnings
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from rain.client import Client, RainWarning, as_completed
from rain.client.sent import large_arguments
from tests.client.fake import World


@pytest.mark.parametrize(
    "use",
    [
        lambda future: future + 1,
        lambda future: 1 + future,
        lambda future: sum([future]),
        lambda future: future < 3,
        lambda future: future[0],
        len,
        list,
        float,
        lambda future: f"{future:.2f}",
        lambda future: np.float64(1) * future,
    ],
)
def test_a_future_that_is_used_as_its_value_says_how_to_get_that(
    here: World, use: Callable[[Any], object]
) -> None:
    with pytest.raises(TypeError, match=r"not yet its value: write \.result\(\)"):
        use(here.client.submit(abs, -1))


def test_an_attribute_of_the_value_is_named_with_result(here: World) -> None:
    future: Any = here.client.submit(abs, -1)
    with pytest.raises(AttributeError, match=r"'Future' object has .*write \.result\(\)\.shape"):
        future.shape  # noqa: B018 # it raises
    assert not hasattr(future, "__array__")


def test_a_method_of_the_results_of_pools_is_answered_with_ours(here: World) -> None:
    future: Any = here.client.submit(abs, -1)
    with pytest.raises(AttributeError, match=r"'get': write \.result\(timeout\); if its value has"):
        future.get()
    with pytest.raises(AttributeError, match=r"'ready': write \.done\(\); if its value has one"):
        future.ready()


def test_a_future_is_still_a_thing_to_keep(here: World) -> None:
    futures = here.client.map(abs, [-1, 2])
    assert all(futures)
    assert futures[1] in futures
    assert f"{futures[0]}" == "<Future 'abs' pending>"
    assert np.array(futures, dtype=object).shape == (2,)


def test_a_value_that_is_given_again_and_again_is_hinted_at_put_once(
    here: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large_arguments, "REPEATED_AT_MOST", 1_000_000)
    table = np.zeros(60_000)
    with warnings.catch_warnings(action="error"):
        for _ in range(3):
            here.client.submit(len, table)
    with pytest.warns(RainWarning, match=r"argument 0 .*client\.put\(value\)") as warned:
        here.client.map(len, [table] * 5)
    assert [warning.filename for warning in warned] == [__file__]


def test_a_result_that_does_not_come_in_time_is_named(here: World) -> None:
    with pytest.raises(TimeoutError, match=r"<Future 'abs' pending> is not done after 0 s"):
        here.client.submit(abs, -1).result(timeout=0)


def test_wait_of_asyncio_is_refused_with_what_to_write() -> None:
    with Client(local=True) as client, client.executor() as pool:
        for future in (client.submit(abs, -1), pool.submit(abs, -1)):
            with pytest.raises(TypeError, match=r"ensure_future\(future\) for future in futures"):
                asyncio.run(asyncio.wait([future]))  # type: ignore[type-var] # pyright: ignore[reportArgumentType] # which is what is tested


def test_a_timeout_that_the_call_has_raised_stays_what_it_is() -> None:
    def late() -> None:
        raise TimeoutError("no answer from 10.0.0.1")

    with Client(local=True) as client, pytest.raises(TimeoutError, match="no answer from"):
        client.submit(late).result(timeout=60)


class Locked:
    """Has what stays in its process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()

    def get(self) -> bool:
        return self.lock.locked()


def test_what_cannot_be_sent_is_named_with_what_to_do(here: World) -> None:
    lock = threading.Lock()

    def locked() -> bool:
        return lock.locked()

    with pytest.raises(TypeError, match="cannot pickle 'generator'") as caught:
        here.client.submit(list, (x for x in range(3)))
    (note,) = caught.value.__notes__
    assert note.startswith("Argument 0 of the call cannot be sent. A generator cannot be pickled")
    assert caught.value.__context__ is None
    with pytest.raises(TypeError, match="lock") as caught:
        here.client.submit(locked)
    (note,) = caught.value.__notes__
    assert note.startswith("locked cannot be sent with what it captures")
    assert ": lock is a lock. Locks, connections and open files cannot be pickled" in note

    def with_default(there: object = lock) -> object:
        return there

    with pytest.raises(TypeError, match="lock") as caught:
        here.client.submit(with_default)
    assert ": there is a lock. " in caught.value.__notes__[0]
    with pytest.raises(TypeError, match="lock") as caught:
        here.client.submit(list, [Locked()])
    assert ": its value[0].lock is a lock. " in caught.value.__notes__[0]
    with pytest.raises(TypeError, match="lock") as caught:
        here.client.put({"a": lock})
    assert "The value cannot be sent: its value['a'] is a lock. " in caught.value.__notes__[0]


def test_an_object_that_cannot_be_sent_with_its_method_is_named(here: World) -> None:
    with pytest.raises(TypeError, match="lock") as caught:
        here.client.submit(Locked().get)
    assert ": self.lock is a lock. " in caught.value.__notes__[0]


def test_a_result_that_cannot_be_sent_is_told_with_what_to_do() -> None:
    def numbers() -> Any:
        yield from range(3)

    with Client(local=True) as client:
        error = client.submit(numbers).exception()
    assert isinstance(error, TypeError)
    said = str(error.__cause__)
    assert "has returned cannot be sent. A generator cannot be pickled: make a list" in said


@pytest.mark.parametrize(
    "generator", [np.random.default_rng(1), np.random.RandomState(1), random.Random(1)]
)
def test_calls_that_draw_from_copies_of_one_generator_are_warned_of_once(
    here: World, generator: Any
) -> None:
    def draw(number: int) -> object:
        return generator.random()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        here.client.submit(draw, 1)
        here.client.map(lambda own: own.random(), np.random.default_rng(1).spawn(2))
    with pytest.warns(RainWarning, match="draw captures the random generator 'generator'") as told:
        here.client.map(draw, range(3))
    assert [Path(one.filename) for one in told] == [Path(__file__)]


def test_a_map_that_gives_each_call_a_copy_of_one_generator_is_warned_of(here: World) -> None:
    def draw(number: int, rng: random.Random) -> float:
        return number * rng.random()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        here.client.map(draw, [1], rng=random.Random(1))
        here.client.submit(partial(draw, rng=random.Random(1)), 1)
    with pytest.warns(RainWarning, match="argument rng of draw has a random generator that an"):
        here.client.map(draw, [1, 2], rng=random.Random(1))
    with pytest.warns(RainWarning, match="draw captures the random generator 'rng'"):
        here.client.map(partial(draw, rng=random.Random(1)), [1, 2])


@pytest.mark.parametrize("number", [0, 100_000])
def test_calls_that_get_copies_of_one_generator_anywhere_are_warned_of_once(
    here: World, number: int
) -> None:
    def draw(given: dict[str, Any]) -> float:
        return float(given["rng"][0].random())

    given = {"rng": (np.random.default_rng(1),), "data": list(range(number))}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        here.client.submit(draw, given)
        here.client.submit(draw, {"rng": (random.Random(1),)})
    with pytest.warns(RainWarning, match="argument 0 of draw has a random generator") as told:
        futures = [here.client.submit(draw, given) for _ in range(3)]
    assert len(told) == 1
    assert [Path(one.filename) for one in told] == [Path(__file__)]
    assert len(futures) == 3


@pytest.mark.parametrize("length", [10, 1_000_000])
@pytest.mark.parametrize("inside", [False, True])
def test_an_array_that_maps_a_file_for_writing_is_warned_of_once(
    here: World, tmp_path: Path, inside: bool, length: int
) -> None:
    path = tmp_path / "data"
    path.write_bytes(bytes(length))
    writable, readable = np.memmap(path, mode="r+"), np.memmap(path, mode="r")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        here.client.submit(len, [readable] if inside else readable)
        here.client.submit(len, writable + 1)  # an array of its own
    told_of = f"does not reach '{path}'. Map the file in the function"
    with pytest.warns(RainWarning, match=re.escape(told_of)) as told:
        here.client.map(len, [[writable[2:]] if inside else writable[2:]] * 2)
    assert len(told) == 1


async def _fetch(number: int) -> int:
    return number


async def _fetch_each(number: int) -> AsyncIterator[int]:
    yield number


class _Fetcher:
    async def __call__(self) -> int:
        return 1


@pytest.mark.parametrize(
    ("called", "name"),
    [(partial(_fetch, 1), "_fetch"), (_Fetcher(), "_Fetcher"), (_fetch_each, "_fetch_each")],
)
def test_whatever_gives_an_awaitable_is_refused_as_an_async_function(
    here: World, called: Callable[..., Any], name: str
) -> None:
    with pytest.raises(TypeError, match=rf"submit: {name} is an async function"):
        here.client.submit(called)


def test_an_async_loop_over_plain_futures_says_how_it_is_written(here: World) -> None:
    running: Any = as_completed([here.client.submit(abs, -1)])

    async def main() -> None:
        async for _ in running:
            pass

    with pytest.raises(TypeError, match=r"async for .* client\.as_completed.* AsyncClient"):
        asyncio.run(main())


def test_a_bar_that_asks_plain_futures_for_an_async_loop_goes_on_with_a_plain_one(
    here: World,
) -> None:
    running: Any = as_completed([here.client.submit(abs, -1)])
    assert aiter(running).__anext__  # as tqdm.auto does
    assert iter(running) is running


@pytest.mark.parametrize(
    ("called", "told"),
    [
        (lambda client: client.wait([], return_when="FIRST_COMPLETED"), "write num_returns=1"),
        (lambda client: client.wait([], fetch_local=False), "leave it out, since a result is"),
        (lambda client: client.gather([], direct=True), "gather has no option 'direct': leave it"),
        (lambda client: client.put(1, broadcast=True), "leave it out, since a governor gets"),
        (lambda _: cast("Any", as_completed)([], with_results=True), r"write future\.result\(\)"),
        (lambda client: client.gather([], timout=1), "did you mean 'timeout'"),
    ],
)
def test_an_option_of_a_wait_elsewhere_is_answered_with_ours(
    here: World, called: Callable[[Any], object], told: str
) -> None:
    with pytest.raises(TypeError, match=told):
        called(here.client)
