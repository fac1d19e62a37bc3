"""The tasks that run inside the governor: `buildin/` and a method.

Each run is a trio task with its own cancel scope, so that it can be stopped; quick tasks that need
no file run at once. However a run ends, it reports `BuiltinDone`. The code of the tasks is imported
with the first one, because many governors never run any.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import trio

from rain.base.kinds import DataType
from rain.governor.core.effects import BuiltinInput, RunBuiltin
from rain.governor.core.events import BuiltinDone
from rain.governor.core.results import STOPPED, Failed, Made, Outputs, PassedOn
from rain.governor.storage.store import MEMORY_LIMIT
from rain.governor.workplace import Workplace
from rain.stream.removing import remove

if TYPE_CHECKING:
    from rain.governor.programs.builtin_files import BuiltinJob
    from rain.governor.programs.run import Programs
    from rain.governor.watching import Look


class Builtins:
    """Carries out `RunBuiltin` and `StopBuiltin`."""

    def __init__(self, place: Workplace) -> None:
        self._place = place
        self._scopes: dict[int, trio.CancelScope] = {}
        self._programs: Programs | None = None  # until the first program

    def start(self, effect: RunBuiltin) -> None:
        """Starts a run."""
        if method_of(effect) == "concat" and _is_quick(effect):
            from rain.governor.programs import builtin_files as files  # noqa: PLC0415 # see the top

            job = files.BuiltinJob(effect, self._place.store, self._place.folder)
            self._place.tell(BuiltinDone(effect.run, 0.0, files.concat(job)))
            return
        if method_of(effect) == "run":
            self._get_programs().start(effect)
            return
        self._scopes[effect.run] = trio.CancelScope()
        self._place.background.start(self._run, effect)

    def stop(self, run: int, grace: float | None = None, *, timed_out: bool = False) -> None:
        """Stops a run soon; it may have ended already. A program has some seconds to clean up."""
        scope = self._scopes.get(run)
        if scope is not None:
            scope.cancel()
        elif self._programs is not None:
            self._programs.stop(run, grace, timed_out=timed_out)

    def printed(self, run: int) -> str:
        """The output of a program so far; "" for any other run."""
        return "" if self._programs is None else self._programs.printed(run)

    def look_at(self, run: int) -> Look | None:
        """Looks at what a program prints; None for any other run."""
        return None if self._programs is None else self._programs.look_at(run)

    def pids(self) -> dict[int, int]:
        """The process of each program that runs."""
        return {} if self._programs is None else self._programs.pids()

    def printing(self) -> Iterable[int]:
        """The files that programs print into."""
        return () if self._programs is None else self._programs.printing()

    def _get_programs(self) -> Programs:
        if self._programs is None:
            from rain.governor.programs.run import Programs  # noqa: PLC0415 # see the top

            self._programs = Programs(self._place)
        return self._programs

    async def _run(self, effect: RunBuiltin) -> None:
        started = time.monotonic()
        result: Outputs | Failed = STOPPED
        try:
            with self._scopes[effect.run]:
                result = await self._work(effect)
        finally:
            del self._scopes[effect.run]
            self._place.tell(BuiltinDone(effect.run, time.monotonic() - started, result))

    async def _work(self, effect: RunBuiltin) -> Outputs | Failed:
        from rain.governor.programs.builtin_files import IN_A_THREAD, BuiltinJob  # noqa: PLC0415 # see the top
        from rain.governor.programs.sandbox import attempt, attempt_in_a_thread  # noqa: PLC0415 # see the top

        method = method_of(effect)
        job = BuiltinJob(effect, self._place.store, self._place.folder / str(effect.run))
        if method == "sleep":
            rest = attempt(effect, rest_of, job)
            if isinstance(rest, Failed):
                return rest
            seconds, source = rest
            await trio.sleep(seconds)
            return [Made(PassedOn(source.id))]
        if method == "same":
            return same(effect)
        if method not in IN_A_THREAD:
            return Failed(f"there is no task type {effect.kind.task_type!r}")
        return await attempt_in_a_thread(effect, in_a_folder, IN_A_THREAD[method], job)


def rest_of(job: BuiltinJob) -> tuple[float, BuiltinInput]:
    """How long to sleep, and the input to pass on afterwards."""
    from rain.governor.programs.builtin_files import inputs_of  # noqa: PLC0415 # see the top
    from rain.governor.programs.sandbox import BuiltinError  # noqa: PLC0415 # see the top

    seconds = job.config()
    if not isinstance(seconds, int | float) or seconds < 0:
        raise BuiltinError(f"sleep needs a number of seconds, not {seconds!r}")
    (source,) = inputs_of(job, 1)
    return seconds, source


def same(effect: RunBuiltin) -> Outputs:
    """Passes the inputs on, one for each output; names their types where others are declared."""
    made: Outputs = []
    for source, output in zip(effect.inputs, effect.outputs, strict=True):
        content_type = source.content_type or source.kind.content_type
        told = "" if content_type == output.content_type else content_type
        made.append(Made(PassedOn(source.id), told))
    return made


def in_a_folder(work: Callable[[BuiltinJob], Outputs], job: BuiltinJob) -> Outputs:
    """The outputs of a task that has its own folder meanwhile."""
    job.folder.mkdir()
    try:
        return work(job)
    finally:
        remove(job.folder)


def method_of(effect: RunBuiltin) -> str:
    """Which of the built-in tasks it is."""
    return effect.kind.task_type.partition("/")[2]


def _is_quick(effect: RunBuiltin) -> bool:
    """Whether all inputs are small blobs in memory."""
    return (
        all(
            isinstance(source.content, bytes) and source.kind.data_type is DataType.BLOB
            for source in effect.inputs
        )
        and sum(source.size for source in effect.inputs) < MEMORY_LIMIT
    )
