"""The options of a call, and their checks: cpus, other resources, tries, a priority, a name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypedDict, Unpack

from attrs import frozen

from rain.base.attempts import ONE_TRY, Attempts
from rain.base.constraints import Constraints
from rain.base.resources import CPUS
from rain.client.cached.plans import Cache, checked_cache, checked_cache_key
from rain.client.environments import Env, checked_env
from rain.client.explaining.misspelled import expect_known
from rain.client.retrying import RetryOn, attempts_of_function
from rain.client.shapes import (
    ObjectShape,
    TaskShape,
    checked_constraints,
    checked_duration,
    checked_idempotent,
    checked_priority,
    checked_resources,
    with_memory,
)
from rain.client.task_parts import PYTHON_TASK


class Surrounding(Protocol):
    """A function that is called in place of the user's. Equal ones do the same."""

    @property
    def changes_arguments(self) -> bool: ...

    @property
    def content_type(self) -> str:
        """How its results are encoded."""
        ...

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
    memory_tries: int | None
    backoff: float | None
    timeout: float | None
    retry_on: RetryOn
    priority: int
    cache: Cache
    cache_key: object
    idempotent: bool | None
    env: Env | None


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
    idempotent: bool | None = None  # whether a call may run twice at a time
    env: Env | None = None  # None: that of its session

    def shape(
        self, name: str, labels: tuple[str | None, ...], outputs: tuple[ObjectShape, ...]
    ) -> TaskShape:
        """The shape of the tasks of a Python function, by this name."""
        return TaskShape(
            PYTHON_TASK,
            name,
            self.resources,
            labels,
            outputs,
            "",
            self.duration,
            self.constraints,
            self.attempts,
            self.priority,
            self.cache,
            self.idempotent,
            "" if self.env is None else self.env.environment.text,
        )

    @staticmethod
    def of(**words: Unpack[OptionWords]) -> Options:
        """Options as users say them; RainException if one is invalid."""
        return checked(words.get("name") or "options", words)


def checked(what: str, words: OptionWords) -> Options:
    """Options as users say them; the RainException about an invalid one begins with `what`."""
    amounts = {
        CPUS: words.get("cpus", 1),
        **with_memory(words.get("resources"), words.get("memory")),
    }
    folder = checked_cache(what, words.get("cache"))
    return Options(
        words.get("name"),
        checked_resources(what, amounts),
        checked_duration(what, words.get("duration")),
        checked_constraints(what, words.get("constraints")),
        attempts_of_function(
            what,
            words.get("tries", 1),
            words.get("crash_tries"),
            words.get("backoff"),
            words.get("timeout"),
            words.get("retry_on"),
            words.get("memory_tries"),
        ),
        checked_priority(what, words.get("priority", 0)),
        None,
        folder,
        checked_cache_key(what, words.get("cache_key"), folder),
        checked_idempotent(what, words.get("idempotent")),
        checked_env(what, words.get("env")),
    )


def chosen(where: str, words: OptionWords) -> Options:
    """Options as users say them, in `where`; TypeError for a name that is none of them."""
    expect_known(where, words, OPTIONS)
    return checked(words.get("name") or "options", words)


NO_OPTIONS = Options()
"""Nothing was said."""
