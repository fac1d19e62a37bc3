"""The process of one executor: its states, and why it ends.

The table is data, like those of tasks and objects (rain/governor/core/tables.py): a process makes
only moves of the table, and docs/states.md is drawn from it.
"""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable

from attrs import frozen

from rain.base.errors import InvariantError, ProtocolError
from rain.base.states import Step, Word
from rain.governor.core.events import ExecutorDied, KernelKill
from rain.governor.executors.process import (
    TAIL_OF_A_START,
    TAIL_OF_A_TASK,
    Places,
    cause_of_death,
    kill_group,
    printed_so_far,
)
from rain.governor.machine.memory_files import KernelKills

KILLED = "was killed by its governor"
"""Why an executor has ended that did nothing wrong itself: a task in it had to end."""

Blame = Callable[[int, str], object]
"""Notes the number of an executor, and what it did wrong."""


class ChildRow(Word):
    """Where the process of an executor stands."""

    STARTING = "starting"
    READY = "ready"
    KILLED = "killed"
    ENDED = "ended"


class ChildMove(Word):
    """What can happen to it."""

    REGISTER = "register"
    KILL = "kill"
    END = "end"


@frozen
class ChildFacts:
    """What holds in one row."""

    row: ChildRow
    gets_calls: bool
    meaning: str


CHILD_TABLE: tuple[ChildFacts, ...] = (
    ChildFacts(ChildRow.STARTING, False, "its process runs, and has not registered"),
    ChildFacts(ChildRow.READY, True, "it has registered, and runs calls"),
    ChildFacts(ChildRow.KILLED, False, "its governor has killed it; its last answers count"),
    ChildFacts(
        ChildRow.ENDED,
        False,
        "its process is gone; its last answers count, but a registration comes too late",
    ),
)

CHILD_STEPS: tuple[Step[ChildRow, ChildMove], ...] = (
    Step(ChildRow.STARTING, ChildMove.REGISTER, ChildRow.READY),
    Step(ChildRow.STARTING, ChildMove.KILL, ChildRow.KILLED),
    Step(ChildRow.STARTING, ChildMove.END, ChildRow.ENDED),
    Step(ChildRow.READY, ChildMove.KILL, ChildRow.KILLED),
    Step(ChildRow.READY, ChildMove.END, ChildRow.ENDED),
    Step(ChildRow.KILLED, ChildMove.END, ChildRow.ENDED),
)
_MOVES = {(step.start, step.move): step.end for step in CHILD_STEPS}


class Child:
    """The process, from its start until it was reaped."""

    def __init__(
        self, number: int, process: subprocess.Popen[bytes], places: Places, blame: Blame
    ) -> None:
        self.process = process
        self.row = ChildRow.STARTING
        self._number = number
        self._places = places
        self._blame = blame
        self._reason = ""  # why it ends: what was wrong first, or else that it was killed
        self._tail = TAIL_OF_A_START
        self._by_kernel: KernelKill | None = None

    @property
    def gets_calls(self) -> bool:
        return self.row is ChildRow.READY

    @property
    def is_starting(self) -> bool:
        return self.row is ChildRow.STARTING

    @property
    def is_wrong(self) -> bool:
        """Whether something is known that was wrong with it."""
        return self._reason not in ("", KILLED)

    def register(self) -> bool:
        """It has registered; False if that comes too late."""
        if self.row is ChildRow.READY:
            raise ProtocolError("it registers twice")
        if self.row is not ChildRow.STARTING:
            return False
        self._move(ChildMove.REGISTER)
        self._tail = TAIL_OF_A_TASK
        return True

    def note(self, what: str) -> None:
        """Something is wrong with it. What was wrong first stays the reason of its end."""
        if not self.is_wrong:
            self._reason = what

    def refuse(self, what: str) -> None:
        """It has done something wrong, and is killed."""
        self._blame(self._number, what)
        self.note(what)
        self.kill()

    def kill(self) -> None:
        """Kills the process and all that it has started, if that was not done before."""
        if self.row in (ChildRow.STARTING, ChildRow.READY):
            self._move(ChildMove.KILL)
            self._reason = self._reason or KILLED
            kill_group(self.process)

    def reap(self, kills: KernelKills) -> None:
        """The process has ended, which its pidfd has told: what it has left in its group goes."""
        kill_group(self.process)
        status = self.process.wait()
        was_killed = self.row is ChildRow.KILLED
        if status == -signal.SIGKILL and not was_killed:
            self._by_kernel = kills.take_one()
        self._move(ChildMove.END)

    def death(self) -> ExecutorDied:
        """What the governor is told of its end, after its last words were heard."""
        status = self.process.returncode
        cause = cause_of_death(self._number, status, self._places, self._tail, self._reason)
        printed = printed_so_far(self._number, self._places)
        return ExecutorDied(
            self._number, cause, printed=printed, status=status, by_kernel=self._by_kernel
        )

    def _move(self, move: ChildMove) -> None:
        end = _MOVES.get((self.row, move))
        if end is None:
            raise InvariantError(
                f"executor {self._number} is {self.row.value} and cannot {move.value}"
            )
        self.row = end
