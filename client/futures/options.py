"""What a call needs besides its arguments: cpus, other resources, tries, a priority, a name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypedDict

from attrs import frozen

from rain.base.attempts import ONE_TRY, Attempts
from rain.base.constraints import Constraints
from rain.base.resources import CPUS
from rain.client.cached.plans import Cache, checked_cache, checked_cache_key
from rain.client.misspelled import expect_known
from rain.client.retrying import RetryOn, attempts_of_function
from rain.client.shapes import (
    checked_constraints,
    checked_duration,
    checked_priority,
    checked_resources,
)


class Surrounding(Protocol):
    """What is called in the place of a function. Equal ones do the same."""

    @property
    def changes_arguments(self) -> bool: ...

    def around(self, fn: Callable[..., Any]) -> Callable[..., Any]: ...


class OptionWords(TypedDict, total=False):
    """The options of calls as users say them."""

    name: str | None
    cpus: int
    memory: int | str | None
    resources: Mapping[str, int | str] | None
    duration: float | None
    constraints: Mapping[str, object] | None
    tries: int
    crash_tries: int | None
    backoff: float | None
    timeout: float | None
    retry_on: RetryOn
    priority: int
    cache: Cache
    cache_key: object


OPTIONS = tuple(OptionWords.__annotations__)
"""The names of all options."""


@frozen
class Options:
    """The options of a call, checked."""

    name: str | None = None  # None: that of the function
    resources: tuple[tuple[str, int], ...] = ((CPUS, 1),)
    duration: float = 0.0
    constraints: Constraints | None = None
    attempts: Attempts = ONE_TRY
    priority: int = 0
    surrounding: Surrounding | None = None  # None: the function is called itself
    cache: str = ""  # the folder that keeps results, "" for none
    cache_key: str = ""  # the digest of what else they depend on

    @staticmethod
    def of(
        *,
        name: str | None = None,
        cpus: int = 1,
        memory: int | str | None = None,
        resources: Mapping[str, int | str] | None = None,
        duration: float | None = None,
        constraints: Mapping[str, object] | None = None,
        tries: int = 1,
        crash_tries: int | None = None,
        backoff: float | None = None,
        timeout: float | None = None,
        retry_on: RetryOn = None,
        priority: int = 0,
        cache: Cache = None,
        cache_key: object = None,
    ) -> Options:
        """Options as users say them."""
        amounts: dict[str, int | str] = {CPUS: cpus, **(resources or {})}
        if memory is not None:
            amounts["memory"] = memory
        what = "options" if name is None else name
        folder = checked_cache(what, cache)
        return Options(
            name,
            checked_resources(what, amounts),
            checked_duration(what, duration),
            checked_constraints(what, constraints),
            attempts_of_function(what, tries, crash_tries, backoff, timeout, retry_on),
            checked_priority(what, priority),
            None,
            folder,
            checked_cache_key(what, cache_key, folder),
        )


def chosen(where: str, words: OptionWords) -> Options:
    """Options as users say them, in `where`; TypeError for a name that is none of them."""
    expect_known(where, words, OPTIONS)
    return Options.of(**words)


NO_OPTIONS = Options()
"""Nothing was said."""
