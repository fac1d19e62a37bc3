"""The runs of a task, as users see them in its info and its exception."""

from typing import Any

from attrs import define, fields


@define
class RunInfo:
    """One run of a task: where and when it was, how it has ended, and why.

    `state` is "told" (to a governor, which has not started it), "running", "finished", "failed",
    "handed back" (the governor had no room to start it), "withdrawn" (the server has stopped it) or
    "lost" (its governor is gone).

    `cause` says why a run has not succeeded:

    * failed: "task" for what it has done itself, "timeout" when it took too long, "executor" when
      the process that ran it has ended under it, "memory" when it had more than its governor could
      give, "disk" when what it makes or reads is larger than the disk of any governor, "not
      started" when too many governors could not start the task;
    * lost: "governor" when it was running and may be the reason, else "governor left";
    * handed back: "not started", or "disk" when other governors have larger ones;
    * withdrawn: "taken back" by the scheduler, "recalled" when the task before it will not run
      there, "input lost", "cancelled" by a client, "given up" with its task, or "outrun" when the
      task was late and a second run of it has finished before.
    """

    number: int  # from 1 on; of a task that ran very often some are missing
    governor: str = ""
    state: str = "finished"
    cause: str = ""
    error: str = ""
    debug: str = ""
    told_time: str = ""  # when the governor was told to run the task
    start_time: str = ""
    duration: float | None = None  # seconds; None while it runs, or when it never started
    exit_code: int | None = None  # of a program that has failed, or of a process that has died
    signal: str = ""  # by which that was killed, as "SIGSEGV"
    logs: str = ""  # the end of what a failed run has printed
    retryable: bool = True  # False when `retry_on` forbids another try
    peak_memory: int = 0  # the most bytes that it had; 0 for a short run: nobody has looked

    @property
    def has_failed(self) -> bool:
        """Whether it has used up a try, or was running when its governor was lost."""
        return self.state == "failed" or self.cause == "governor"

    def to_json(self) -> dict[str, Any]:
        """A dictionary of plain values; what is empty is left out."""
        values = {found: getattr(self, found.name) for found in fields(RunInfo)}
        return {
            found.name: value
            for found, value in values.items()
            if value != found.default or found.name == "state"
        }
