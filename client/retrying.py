"""Reads the options for retries: how often, and after which exception classes or exit codes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from attrs import evolve

from rain.base.attempts import Attempts
from rain.client.shapes import checked_attempts
from rain.common.by_value import dumps
from rain.common.errors import RainException, TaskTimeout
from rain.common.pickles import PICKLE_PROTOCOL

RetryOn = type[BaseException] | Iterable[type[BaseException]] | None
"""The argument `retry_on` of functions."""

RetryCodes = int | type[BaseException] | Iterable[int | type[BaseException]] | None
"""And of programs."""

MOST_CODES = 255
"""The largest exit code. Of a signal it is the negative number, as in `subprocess`."""

NO_CODE = 0
"""No program that has failed ends with it."""

LARGEST = 256 * 1024


def attempts_of_function(
    what: str,
    tries: Any = 1,
    crash_tries: Any = None,
    backoff: Any = None,
    timeout: Any = None,
    retry_on: Any = None,
    memory_tries: Any = None,
) -> Attempts:
    """How often a function may be run; RainException if that is invalid."""
    given = _given(what, retry_on, tries)
    for one in given:
        if isinstance(one, int) and not isinstance(one, bool):
            raise RainException(
                f"{what}: retry_on: {one} is an exit code, which only programs have; name the"
                " exception classes of the function"
            )
        if not (isinstance(one, type) and issubclass(one, BaseException)):
            raise RainException(f"{what}: retry_on: {one!r} is not an exception class")
    attempts = checked_attempts(what, tries, crash_tries, backoff, timeout, memory_tries)
    if not given:
        return attempts
    return evolve(
        attempts,
        retry_on=_pickled(what, given),
        final_timeout=not issubclass(TaskTimeout, given),
    )


def attempts_of_program(
    what: str,
    tries: Any = 1,
    crash_tries: Any = None,
    backoff: Any = None,
    timeout: Any = None,
    retry_on: Any = None,
    memory_tries: Any = None,
) -> Attempts:
    """How often a program may be run; RainException if that is invalid."""
    given = _given(what, retry_on, tries)
    kinds = tuple(one for one in given if isinstance(one, type) and issubclass(TaskTimeout, one))
    codes = tuple(one for one in given if one not in kinds)
    for one in codes:
        if isinstance(one, type):
            raise RainException(
                f"{what}: retry_on: a program raises no {one.__name__}; name its exit codes, for"
                " instance retry_on=(75, 111), or TimeoutError for its timeout"
            )
        if not isinstance(one, int) or isinstance(one, bool) or not -64 <= one <= MOST_CODES:
            raise RainException(
                f"{what}: retry_on: {one!r} is not an exit code from 1 to {MOST_CODES}, nor the"
                " negative number of a signal"
            )
        if one == 0:
            raise RainException(f"{what}: retry_on: a program with the exit code 0 has not failed")
    attempts = checked_attempts(what, tries, crash_tries, backoff, timeout, memory_tries)
    if not given:
        return attempts
    # With a timeout alone no exit code is worth another try.
    return evolve(attempts, retry_codes=codes or (NO_CODE,), final_timeout=not kinds)


def _given(what: str, retry_on: Any, tries: Any) -> tuple[Any, ...]:
    """The named classes or codes; a single one needs no tuple."""
    if retry_on is None:
        return ()
    several: Iterable[Any] = (retry_on,)
    if isinstance(retry_on, Iterable) and not isinstance(retry_on, str):
        several = retry_on
    given = tuple(several)
    if not given:
        raise RainException(f"{what}: retry_on is empty, so that tries would never be used")
    if tries == 1:
        raise RainException(
            f"{what}: retry_on says what is tried again, and tries=1 that nothing is: give tries,"
            " for instance tries=3"
        )
    return given


def _pickled(what: str, classes: tuple[type[BaseException], ...]) -> bytes:
    pickled = dumps(classes, PICKLE_PROTOCOL)
    if len(pickled) > LARGEST:
        names = ", ".join(one.__name__ for one in classes)
        raise RainException(
            f"{what}: retry_on: the classes {names} take {len(pickled)} bytes with all that they"
            " refer to: define them in a module"
        )
    return pickled
