"""Exceptions of tasks as they are sent."""

from __future__ import annotations

import copyreg
import errno
import importlib
import pickle
import sys
import threading
import weakref
from bdb import BdbQuit
from collections.abc import Iterator
from subprocess import CalledProcessError
from types import SimpleNamespace
from typing import Any

import pytest

from rain.executor.errors import (
    DEEPEST,
    FUTURES_INSIDE,
    LEFT_OF_TEXT,
    NO_TERMINAL,
    close_what_it_held,
    pickled_error,
    text_of,
    with_hint,
)


class WrongError(ValueError):
    """One with a note, and with an attribute."""


class CodeError(Exception):
    """One that is made of other arguments than it remembers."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"{text} ({code})")
        self.code = code


@pytest.fixture
def failure() -> Iterator[WrongError]:
    """Raised where tblib has registered its class, as it does for all when Dask imports it."""
    tblib: Any = importlib.import_module("tblib.pickling_support")
    tblib.install(WrongError)
    try:
        raise WrongError("it went wrong", 7)
    except WrongError as error:
        error.add_note("a note")
        yield error
    finally:
        del copyreg.dispatch_table[WrongError]


def test_an_exception_is_sent_without_its_traceback_and_without_tblib(failure: WrongError) -> None:
    data, why = pickled_error(failure)
    assert (why, b"tblib" in data) == ("", False)
    sent = pickle.loads(data)
    assert type(sent) is WrongError
    assert (sent.args, sent.__notes__) == (("it went wrong", 7), ["a note"])
    assert sent.__traceback__ is None


def test_a_group_is_sent_with_members_whose_own_pickles_cannot_be_read() -> None:
    inner = ExceptionGroup("inner", [CodeError(7, "no"), FileNotFoundError(2, "gone", "a.txt")])
    inner.add_note("a note")
    data, why = pickled_error(ExceptionGroup("outer", [ValueError(1), inner]))
    assert why == ""
    sent = pickle.loads(data)
    number, again = sent.exceptions
    assert (type(sent), sent.message, number.args) == (ExceptionGroup, "outer", (1,))
    code, gone = again.exceptions
    assert (again.message, again.__notes__) == ("inner", ["a note"])
    assert (type(code), str(code), code.code) == (CodeError, "no (7)", 7)
    assert gone.filename == "a.txt"


def test_parts_of_an_exception_that_are_large_or_cannot_be_pickled_are_left_out() -> None:
    error = WrongError("broken", threading.Lock(), "x" * 100_000)
    error.lock, error.code, error.output = threading.Lock(), 7, b"y" * 100_000  # type: ignore[attr-defined] # pyright: ignore[reportAttributeAccessIssue] # as users do
    error.add_note("a note")
    data, why = pickled_error(error)
    assert why.startswith("Parts of it are left out, as it cannot be sent: TypeError: ")
    sent = pickle.loads(data)
    assert type(sent) is WrongError
    assert sent.args == ("broken", "<lock>", "x" * LEFT_OF_TEXT)
    assert vars(sent) == {"code": 7, "output": b"y" * LEFT_OF_TEXT, "__notes__": ["a note"]}
    grouped = pickle.loads(pickled_error(ExceptionGroup("several", [error]))[0])
    assert grouped.exceptions[0].code == 7


def test_a_program_that_has_failed_with_much_output_is_its_own_error() -> None:
    error = CalledProcessError(3, ["make", "all"], "o" * 100_000, "e" * 10)
    data, why = pickled_error(error)
    assert "its pickle has 100," in why
    sent = pickle.loads(data)
    assert str(sent) == str(error)
    assert (sent.returncode, sent.cmd) == (3, ["make", "all"])
    assert (sent.stdout, sent.stderr) == ("o" * LEFT_OF_TEXT, "e" * 10)


def test_an_exception_of_which_nothing_can_be_sent_says_why() -> None:
    class LocalError(Exception):
        lock = threading.Lock()

    data, why = pickled_error(LocalError())
    assert data == b""
    assert why.startswith("It is raised as a TaskException, as it cannot be sent: TypeError: ")


@pytest.mark.parametrize(
    "text",
    [
        "unsupported operand type(s) for +: 'int' and 'Future'",
        "sequence item 0: expected str instance, Future found",
        "cannot concatenate object of type '<class 'rain.client.future.Future'>'",
    ],
)
def test_a_type_error_about_a_future_says_that_futures_in_lists_stay_futures(text: str) -> None:
    error = TypeError(text)
    with_hint(error)
    assert error.__notes__ == [FUTURES_INSIDE]


@pytest.mark.parametrize(("is_terminal", "notes"), [(False, [NO_TERMINAL]), (True, [])])
def test_who_asks_where_there_is_no_terminal_is_told_so(
    is_terminal: bool, notes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: is_terminal))
    for error in (BdbQuit(), EOFError("EOF when reading a line")):
        with_hint(error)
        assert getattr(error, "__notes__", []) == notes


def test_a_type_error_about_anything_else_has_no_hint() -> None:
    error = TypeError("expected str instance, FutureWarning found")
    with_hint(error)
    assert not hasattr(error, "__notes__")


def descend(depth: int) -> None:
    if depth == 0:
        raise WrongError("too deep")
    descend(depth - 1)


def descend_after_another() -> None:
    try:
        raise KeyError("first")
    except KeyError:
        descend(DEEPEST)


@pytest.mark.parametrize(("more", "said"), [(-2, ""), (-1, "1"), (2000, "2,002")])
def test_of_a_very_deep_traceback_the_inner_calls_are_told(more: int, said: str) -> None:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(2 * DEEPEST + 1000)
    try:
        with pytest.raises(WrongError) as caught:
            descend(DEEPEST + more)
    finally:
        sys.setrecursionlimit(limit)
    first, second, *_, last = text_of(caught.value).splitlines()
    assert first == "Traceback (most recent call last):"
    assert ("left out" in second) is bool(said)
    assert not said or second == f"  [outer calls that are left out: {said}]"
    assert last.endswith("WrongError: too deep")


def test_the_causes_of_a_very_deep_traceback_come_before_what_is_left_out() -> None:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(2 * DEEPEST + 1000)
    try:
        with pytest.raises(WrongError) as caught:
            descend_after_another()
    finally:
        sys.setrecursionlimit(limit)
    cause, _, rest = text_of(caught.value).partition("another exception occurred")
    assert "KeyError: 'first'" in cause
    assert "left out" not in cause
    assert "left out: 3]" in rest


@pytest.mark.parametrize(("number", "stays"), [(errno.EMFILE, False), (errno.ENOENT, True)])
def test_what_a_function_holds_goes_when_its_process_can_open_no_more(
    number: int, stays: bool
) -> None:
    class File:
        """Something that is open as long as a function has it."""

    held: list[weakref.ref[File]] = []

    def leak() -> None:
        kept = File()
        held.append(weakref.ref(kept))
        raise OSError(number, "no descriptor, or something else")

    with pytest.raises(OSError, match="no descriptor") as caught:
        leak()
    close_what_it_held(caught.value)
    assert (held[0]() is not None) is stays
