"""Calls of functions that decorators have changed."""

from collections.abc import Callable
from functools import cache, partial, singledispatchmethod, wraps
from typing import Any

import pytest

from rain.client import Client
from tests.client.fake import World


def with_database(function: Callable[..., str]) -> Callable[..., str]:
    """Gives the function an argument that callers do not know."""

    @wraps(function)
    def connected(*args: Any, **keywords: Any) -> str:
        return function("database", *args, **keywords)

    return connected


def with_tries(function: Callable[..., int]) -> Callable[..., int]:
    """Takes an argument that the function does not know."""

    @wraps(function)
    def tried(value: int, tries: int = 3) -> int:
        return function(value) * tries

    return tried


@with_database
def find(database: str, name: str) -> str:
    return f"{name} of the {database}"


@with_tries
def double(value: int) -> int:
    return 2 * value


class Printer:
    """Shows values of several kinds."""

    @singledispatchmethod
    def show(self, value: object) -> str:
        return f"the value {value}"

    @show.register
    def _(self, value: int) -> str:
        return f"the number {value}"


def test_a_decorator_may_give_a_function_other_arguments_than_it_takes() -> None:
    submit: Callable[..., Any]
    with Client(local=True) as client:
        submit = client.submit
        assert submit(find, "key").result() == "key of the database"
        assert submit(find, name="key").result() == "key of the database"
        assert submit(double, 1, tries=5).result() == 10
        assert submit(Printer().show, 7).result() == "the number 7"


def test_a_partial_call_has_the_name_of_its_function(here: World) -> None:
    assert here.client.submit(partial(partial(double), 1)).name == "double"


def test_arguments_that_the_decorator_itself_does_not_take_are_refused(here: World) -> None:
    submit: Callable[..., Any] = here.client.submit
    with pytest.raises(TypeError, match=r"double\(\): too many positional arguments"):
        submit(double, 1, 2, 3)
    with pytest.raises(TypeError, match=r"find\(\): missing a required argument: 'database'"):
        submit(cache(find.__wrapped__))  # type: ignore[attr-defined] # pyright: ignore[reportFunctionMemberAccess] # `wraps` adds it


def test_results_of_decorated_functions_are_kept_by_their_arguments(tmp_path: Any) -> None:
    submit: Callable[..., Any]
    with Client(local=True) as client:
        submit = client.options(cache=str(tmp_path)).submit
        assert submit(find, "key").result() == submit(find, name="key").result()
        assert submit(double, 1, tries=5).result() == 10
        assert submit(double, 1, tries=6).result() == 12
