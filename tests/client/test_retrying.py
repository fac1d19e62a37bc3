"""What is worth another try is said by exception classes or exit codes; the rest is refused."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from rain.base.attempts import Attempts
from rain.client import Program, RainException, Session, Task, TaskTimeout, remote, task
from rain.client.options import Options
from rain.client.retrying import attempts_of_function, attempts_of_program
from rain.client.tasks import Execute


class OwnError(Exception):
    """A class of this module."""


def work(ctx: Any) -> bytes:
    return b""


@pytest.mark.parametrize(
    ("retry_on", "meant"),
    [
        (OSError, (OSError,)),
        ((OSError, OwnError), (OSError, OwnError)),
        ([KeyError], (KeyError,)),
        (SystemExit, (SystemExit,)),
    ],
)
def test_a_function_names_exception_classes_or_a_lone_one(
    retry_on: Any, meant: tuple[type[BaseException], ...]
) -> None:
    attempts = attempts_of_function("work", 3, retry_on=retry_on)
    assert pickle.loads(attempts.retry_on) == meant
    assert attempts.retry_codes == ()


@pytest.mark.parametrize(("retry_on", "meant"), [(75, (75,)), ((1, 255), (1, 255)), ([-9], (-9,))])
def test_a_program_names_exit_codes_and_signals(retry_on: Any, meant: tuple[int, ...]) -> None:
    attempts = attempts_of_program("sort", 3, retry_on=retry_on)
    assert (attempts.retry_codes, attempts.retry_on) == (meant, b"")


@pytest.mark.parametrize(
    ("retry_on", "why"),
    [
        (3, "work: retry_on: 3 is an exit code, which only programs have"),
        ("OSError", "work: retry_on: 'OSError' is not an exception class"),
        (int, "work: retry_on: <class 'int'> is not an exception class"),
        ((OSError, None), "work: retry_on: None is not an exception class"),
        (OSError(), "work: retry_on: OSError.. is not an exception class"),
        ((), "work: retry_on is empty"),
    ],
)
def test_what_no_function_can_raise_is_refused_by_name(retry_on: Any, why: str) -> None:
    with pytest.raises(RainException, match=why):
        remote(name="work", tries=3, retry_on=retry_on)(work)


@pytest.mark.parametrize(
    ("retry_on", "why"),
    [
        (KeyError, "Program: retry_on: a program raises no KeyError; name its exit codes"),
        (0, "Program: retry_on: a program with the exit code 0 has not failed"),
        (256, "Program: retry_on: 256 is not an exit code from 1 to 255"),
        (True, "Program: retry_on: True is not an exit code"),
        ("75", "Program: retry_on: '7' is not an exit code"),
    ],
)
def test_what_no_program_ends_with_is_refused_by_name(retry_on: Any, why: str) -> None:
    with pytest.raises(RainException, match=why):
        Program("true", tries=3, retry_on=retry_on)


def test_what_is_tried_again_needs_tries(session: Session) -> None:
    for make in (
        lambda: task(retry_on=OSError),
        lambda: Execute("true", retry_on=1),
        lambda: Program("true", retry_on=1),
    ):
        with pytest.raises(RainException, match="give tries, for instance tries=3"):
            make()


def test_a_class_that_refers_to_much_is_refused_by_name() -> None:
    class LargeError(Exception):
        table = bytes(300_000)

    with pytest.raises(RainException, match=r"the classes LargeError take .* define them in a mod"):
        task(tries=3, retry_on=LargeError)


@pytest.mark.parametrize("backoff", [0, -1.0, float("inf"), "1", True])
def test_a_backoff_that_is_no_number_of_seconds_is_refused(backoff: Any) -> None:
    with pytest.raises(RainException, match="backoff is a number of seconds above 0, not"):
        task(tries=3, backoff=backoff)


def test_every_way_to_make_a_task_takes_the_same_attempts(session: Session) -> None:
    with session.bind_only():
        made = [
            Task((), 1, task_type="own/method", tries=3, crash_tries=2, backoff=1.5, timeout=9),
            Execute("true", tries=3, crash_tries=2, backoff=1.5, timeout=9),
            Program("true", tries=3, crash_tries=2, backoff=1.5, timeout=9)(),
            remote(tries=3, crash_tries=2, backoff=1.5, timeout=9)(work)(),
        ]
    meant = Attempts(3, 2, 1.5, 9.0)
    assert [one.wire_shape.attempts for one in made] == [meant] * 4
    assert Options.of(tries=3, crash_tries=2, backoff=1.5, timeout=9).attempts == meant


@pytest.mark.parametrize(
    ("retry_on", "final"),
    [(None, False), (OSError, False), (TaskTimeout, False), (KeyError, True), (Exception, False)],
)
def test_a_timeout_of_a_function_is_tried_again_if_its_class_is_named(
    retry_on: Any, final: bool
) -> None:
    attempts = attempts_of_function("work", 3, timeout=1, retry_on=retry_on)
    assert attempts.final_timeout is final


@pytest.mark.parametrize(
    ("retry_on", "codes", "final"),
    [(75, (75,), True), ((75, TimeoutError), (75,), False), (TaskTimeout, (0,), False)],
)
def test_a_timeout_of_a_program_is_named_beside_its_exit_codes(
    retry_on: Any, codes: tuple[int, ...], final: bool
) -> None:
    attempts = attempts_of_program("sort", 3, timeout=1, retry_on=retry_on)
    assert (attempts.retry_codes, attempts.final_timeout) == (codes, final)
