"""Wrappers around functions for `concurrent.futures`: run an initializer first, or call for many
arguments.

These are pickled together with the function, so executors need this module.
"""

import traceback
from collections.abc import Callable
from concurrent.futures import BrokenExecutor
from typing import Any, NamedTuple

Function = Callable[..., Any]


class InitializerError(BrokenExecutor):
    """The initializer of an executor has failed in the process that was to run a call."""

    def __init__(self, executor: str, text: str) -> None:
        super().__init__(executor, text)
        self.executor = executor
        self.text = text

    def __str__(self) -> str:
        return f"the initializer of the executor has failed:\n{self.text}"


class _Outcome(NamedTuple):
    """The outcome of an initializer in this process."""

    failure: str  # its traceback
    made: dict[str, Any]  # the global names that it has set


_outcomes: dict[str, _Outcome] = {}
"""By executor. A process runs one call at a time, so nobody else writes meanwhile."""


class Initialized:
    """Calls a function where the initializer of its executor was called before, once."""

    def __init__(
        self, executor: str, initializer: Function, initargs: tuple[Any, ...], fn: Function
    ) -> None:
        self._executor = executor
        self._initializer = initializer
        self._initargs = initargs
        self._fn = fn
        self._is_ready = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self._is_ready:
            self._prepare()
        return self._fn(*args, **kwargs)

    def _prepare(self) -> None:
        outcome = _outcomes.get(self._executor)
        if outcome is None:
            outcome = _outcomes[self._executor] = _initialize(self._initializer, self._initargs)
        if outcome.failure:
            raise InitializerError(self._executor, outcome.failure)
        # Functions that are pickled by value have separate globals in each pickle, and the
        # initializer may have come with the pickle of another function.
        _globals_of(self._initializer).update(outcome.made)
        self._is_ready = True


class ForEach:
    """Calls a function for each of several tuples of arguments."""

    def __init__(self, fn: Function) -> None:
        self._fn = fn

    def __call__(self, calls: list[tuple[Any, ...]]) -> list[Any]:
        return [self._fn(*args) for args in calls]


def _initialize(initializer: Function, initargs: tuple[Any, ...]) -> _Outcome:
    names = _globals_of(initializer)
    before = dict(names)
    try:
        initializer(*initargs)
    # As in concurrent.futures: whatever it raises, its executor cannot be used.
    except BaseException:  # noqa: BLE001
        return _Outcome(traceback.format_exc(), {})
    missing = object()
    return _Outcome(
        "", {name: value for name, value in names.items() if before.get(name, missing) is not value}
    )


def _globals_of(fn: Function) -> dict[str, Any]:
    found: dict[str, Any] = getattr(fn, "__globals__", {})
    return found
