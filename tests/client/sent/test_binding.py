"""A user's function gets the arguments that its call was given, or the user is told why not."""

from collections.abc import Callable
from typing import Any

import pytest

from rain.client import Input, Program, RainException, Remote, Session, blob, remote
from tests.client.executor import read_call


def keywords(task: Any) -> dict[str, Any]:
    return read_call(task.wire_config)[1]


@pytest.mark.parametrize("option", ["name", "output", "outputs", "session", "cpus"])
def test_a_parameter_of_the_function_s_own_gets_its_argument(session: Session, option: str) -> None:
    namespace: dict[str, Any] = {}
    exec(f"def greet(ctx, {option}='World'): return 'Hello ' + {option}", namespace)  # noqa: S102 # one function for each name
    greet: Remote = remote()(namespace["greet"])

    positional, by_name, nothing = greet("Bob"), greet(**{option: "Bob"}), greet(**{option: None})

    assert read_call(positional.wire_config) == (["Bob"], {})
    assert read_call(by_name.wire_config) == (["Bob"], {})
    assert read_call(nothing.wire_config) == ([None], {})
    assert by_name.name == "greet"
    assert by_name.outputs.labels == ["out0"]


def test_a_keyword_only_parameter_is_the_function_s_own_too(session: Session) -> None:
    @remote()
    def greet(ctx: Any, *, name: str) -> str:
        return name

    assert keywords(greet(name="Bob")) == {"name": "Bob"}


def test_what_the_function_does_not_have_describes_the_task(session: Session) -> None:
    @remote()
    def plain(ctx: Any, a: int, name: str = "") -> int:
        return a

    task = plain(1, name="x", output="label")

    assert read_call(task.wire_config) == ([1, "x"], {})
    assert task.output.label == "label"


@pytest.mark.parametrize("option", ["name", "output", "outputs", "session"])
def test_a_keyword_that_could_be_either_is_refused(session: Session, option: str) -> None:
    @remote()
    def loose(ctx: Any, **words: Any) -> None: ...

    with pytest.raises(TypeError, match=rf"loose\({option}=...\) can mean .* \*\*words"):
        loose(**{option: "Bob"})
    assert session.task_count == 0
    assert keywords(loose(nam="Bob")) == {"nam": "Bob"}


def test_a_missing_context_is_refused_where_a_call_could_hide_it() -> None:
    def f(x: Any, n: int = 10) -> int:
        return n

    def g(x: Any, *more: Any) -> None: ...

    def h(x: int = 3) -> None: ...

    refused: list[tuple[Callable[..., Any], str]] = [
        (f, r"'x' does not sound like it: write def f\(ctx, x, n=10\)"),
        (g, r"write def g\(ctx, x, \*more\)"),
        (h, r"write def h\(ctx, x=3\)"),
    ]
    for function, line in refused:
        with pytest.raises(RainException, match=line):
            remote()(function)


def test_a_missing_context_is_told_where_the_count_is_wrong(session: Session) -> None:
    @remote()
    def double(x: int) -> int:
        return 2 * x

    with pytest.raises(TypeError, match=r"too many .*; write def double\(ctx, x\)"):
        double(1)


def test_a_context_may_have_any_name_that_sounds_like_one() -> None:
    def a(context: Any, n: int = 1) -> None: ...
    def b(_: Any, n: int = 1) -> None: ...
    def c(task_ctx: Any, n: int = 1) -> None: ...
    def d(c: Any, n: int = 1) -> None: ...

    d.__annotations__["c"] = "Context"

    def e(*everything: Any) -> None: ...
    def f(c: Any, n: int) -> None: ...

    functions: list[Callable[..., Any]] = [a, b, c, d, e, f]
    for function in functions:
        assert isinstance(remote()(function), Remote)


def test_an_input_of_a_program_may_be_called_name(session: Session) -> None:
    program = Program(["cat", Input("name")], stdout=True)
    text = blob("x")

    task = program(name=text)

    assert task.inputs.data == [text]
    assert task.name is None
