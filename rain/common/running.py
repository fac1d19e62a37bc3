"""The task that this process runs, for code that submits tasks or waits for them.

An executor installs itself here, in local mode only during each call. In other processes there is
no task, and waiting is an ordinary wait.
"""

from types import TracebackType
from typing import Protocol


class Running(Protocol):
    """The executor of this process."""

    @property
    def call(self) -> tuple[int, int] | None:
        """The packed id of the running task and the number of its call; None between calls."""
        ...

    def begin_wait(self) -> bool:
        """The calling thread begins to wait for other tasks; returns whether this blocks the
        running task.
        """
        ...

    def end_wait(self) -> None:
        """The wait has ended."""
        ...


_here: Running | None = None


def install(running: Running | None) -> Running | None:
    """From now on this process is an executor, or none; gives what it was before."""
    global _here  # one for the process
    before, _here = _here, running
    return before


def running_call() -> tuple[int, int] | None:
    """The packed id of the task that this process runs, and the number of the call."""
    return None if _here is None else _here.call


def in_a_task() -> bool:
    """Whether this process runs tasks, so that only Rain interrupts it."""
    return _here is not None


def was_interrupted() -> bool:
    """Whether this process runs a task that was cancelled, and cleans up."""
    return _here is not None and _here.call is None


class waiting_for_tasks:  # noqa: N801 # it reads as what happens inside
    """While a task waits inside of this, others may have its cpus."""

    __slots__ = ("_concerned",)

    def __enter__(self) -> None:
        self._concerned = _here is not None and _here.begin_wait()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if self._concerned and _here is not None:
            _here.end_wait()
