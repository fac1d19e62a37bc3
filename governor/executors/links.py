"""Starts the executor processes of the governor, sends them calls, and watches for their end.

A trio task waits for the end of each process.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, assert_never

import trio
from attrs import evolve
from structlog.typing import FilteringBoundLogger

from rain.base.environment import Environment
from rain.base.ids import SessionId
from rain.base.shortage import is_shortage
from rain.common.printed import logs_of
from rain.governor.core.effects import (
    CallExecutor,
    DropCached,
    ExecutorEffect,
    InterruptExecutor,
    KillExecutor,
    RefuseWait,
    StartExecutor,
    TakeBackCalls,
)
from rain.governor.core.events import ExecutorDied
from rain.governor.environments.not_made import NotMadeError
from rain.governor.executors.child import Child
from rain.governor.executors.config import Commands
from rain.governor.executors.link import ExecutorLink, LinkServices
from rain.governor.executors.process import (
    Places,
    printed_so_far,
    start_executor,
    start_program,
)
from rain.governor.machine.memory_files import KernelKills
from rain.governor.workplace import Workplace
from rain.rpc.background import in_a_thread
from rain.stream.removing import remove

if TYPE_CHECKING:
    from rain.governor.environments.folder import MadeEnvironment
    from rain.governor.watching import Look


LOGS_OF_ENDED = 8
"""The logs of this many ended executors stay. Each log has only the output of the last call."""


class LinkedExecutor(Protocol):
    """One executor of any protocol. It reports everything but the end of the process as events."""

    number: int
    child: Child

    def call(self, effect: CallExecutor) -> None: ...

    def take_back(self) -> None: ...

    def interrupt(self, call: int) -> None: ...

    def refuse_wait(self, call: int, most: int) -> None: ...

    def drop(self, effect: DropCached) -> None: ...

    def look(self) -> None: ...

    async def idle(self) -> None: ...

    def died(self, kills: KernelKills) -> None: ...

    def close(self) -> None: ...


class Executors:
    """The links, by executor number."""

    def __init__(
        self,
        workplace: Workplace,
        places: Places,
        commands: Commands,
        log: FilteringBoundLogger,
    ) -> None:
        self._workplace = workplace
        self._places = places
        self._around = LinkServices(
            places, workplace.store, workplace.background, workplace.tell, self._blame
        )
        self._commands = commands
        self._log = log
        self._links: dict[int, LinkedExecutor] = {}
        self._ended: deque[int] = deque()  # executors that have ended, and whose logs stay
        self._closed = False  # the governor ends

    def call(self, effect: CallExecutor) -> None:
        """Sends calls to their executor. If it has ended, the state will hear of that anyway."""
        link = self._links.get(effect.executor)
        if link is not None:
            link.call(effect)

    def carry(self, effect: ExecutorEffect) -> None:
        """Carries out an effect."""
        if isinstance(effect, StartExecutor):
            if effect.environment is None:
                self._start(effect.executor, effect.runner)
            else:
                self._workplace.background.start(self._start_in, effect, effect.environment)
            return
        link = self._links.get(effect.executor)
        if link is None:
            return  # it has ended, and the state will hear of that soon
        match effect:
            case TakeBackCalls():
                link.take_back()
            case InterruptExecutor(_, call):
                link.interrupt(call)
            case RefuseWait(_, call, most):
                link.refuse_wait(call, most)
            case KillExecutor():
                link.child.kill()
            case DropCached():
                link.drop(effect)
            case _:
                assert_never(effect)

    async def _start_in(self, effect: StartExecutor, environment: Environment) -> None:
        """Starts an executor as soon as its environment is there."""
        try:
            made = await self._workplace.environments.made(environment, effect.folders)
            made.check()
        except NotMadeError as error:
            died = ExecutorDied(effect.executor, str(error), short=error.short)
            self._workplace.tell(evolve(died, without_environment=True))
            return
        self._start(effect.executor, effect.runner, made)

    def _start(self, number: int, runner: str, made: MadeEnvironment | None = None) -> None:
        """Starts an executor process; if that fails, reports it as dead at once."""
        if self._closed:  # nothing would end it, and the governor waits for the end of each one
            return
        try:
            link = self._link(number, runner, made)
        except OSError as error:
            self._not_started(number, runner, error)
            return
        try:
            ended = os.pidfd_open(link.child.process.pid)
        except OSError as error:  # nothing would tell of its end
            link.child.kill()
            link.child.process.wait()
            link.close()
            self._not_started(number, runner, error)
            return
        self._workplace.warden.watch(link.child.process.pid)
        self._workplace.bounds.bind(link.child.process.pid, self._places.origin.executor(number))
        self._links[number] = link
        self._log.debug("executor started", executor=number, pid=link.child.process.pid)
        self._workplace.background.start(self._watch, link, ended)

    def _not_started(self, number: int, runner: str, error: OSError) -> None:
        program = f" ({self._commands[runner][0]})" if runner in self._commands else ""
        work = self._places.work
        is_homeless = not work.exists()
        why = f"the work folder {work} was removed" if is_homeless else error.strerror
        cause = f"executor {number}{program} cannot be started: {why}"
        self._log.error("executor not started", executor=number, cause=cause)
        with suppress(OSError):  # it does not exist, or the disk has a problem
            remove(self._places.folder(number))
        # Without its work folder it can run nothing: others shall have the tasks.
        is_short = is_homeless or is_shortage(error)
        self._workplace.tell(ExecutorDied(number, cause, short=is_short))

    def _link(self, number: int, runner: str, made: MadeEnvironment | None) -> LinkedExecutor:
        places = self._places
        if runner in self._commands:
            from rain.governor.executors.cbor_link import CborLink  # noqa: PLC0415 # few governors need it

            program = start_program(number, self._commands[runner], places)
            return CborLink(number, runner, program, self._around)
        return ExecutorLink(number, start_executor(number, places, made), self._around)

    def look(self) -> None:
        """Reads answers for which executors have sent no wake-up."""
        for link in list(self._links.values()):
            link.look()

    def printed(self, number: int) -> str:
        """The output so far of the call that an executor runs."""
        if number not in self._links:
            return ""
        return logs_of(printed_so_far(number, self._places))

    def look_at(self, number: int) -> Look | None:
        """Looks at what the call prints that an executor runs; None if the executor has ended."""
        from rain.governor.programs.printed import look_at_files  # noqa: PLC0415 # rarely used

        if number not in self._links:
            return None
        return look_at_files([self._places.log(number, stream) for stream in ("out", "err")])

    def printing(self) -> Iterator[Path]:
        """The files that executors print into."""
        for number in self._links:
            yield self._places.log(number, "out")
            yield self._places.log(number, "err")

    def pids(self) -> dict[int, int]:
        """The process of each executor."""
        return {number: link.child.process.pid for number, link in self._links.items()}

    def forget(self, sessions: Sequence[SessionId]) -> None:
        """These sessions have ended: kills the processes that their tasks have left behind."""
        for session in sessions:
            self._workplace.warden.strays.end(self._places.origin.session(session))

    def __len__(self) -> int:
        return len(self._links)

    def kill_all(self) -> None:
        """Kills all executors at the end of the governor, which starts none any more."""
        self._closed = True
        for link in self._links.values():
            link.child.kill()
        self._workplace.environments.close()

    async def _watch(self, link: LinkedExecutor, ended: int) -> None:
        """Waits for the end of one process, of which its pidfd tells."""
        try:
            # The end is reported even on cancellation: no process may be left running.
            with trio.CancelScope(shield=True):
                await trio.lowlevel.wait_readable(ended)
        finally:
            os.close(ended)
        self._workplace.warden.release(link.child.process.pid)
        self._workplace.warden.strays.end(self._places.origin.executor(link.number))
        del self._links[link.number]
        link.died(self._workplace.kills)
        link.close()
        try:
            await link.idle()  # or the governor ends, which removes all folders
            for folder in (self._places.folder(link.number), *self._places.stages(link.number)):
                await in_a_thread(partial(remove, folder), abandon=False)
        except OSError as error:  # a process that left its group may still write there
            self._log.warning(
                "executor folder not removed", executor=link.number, reason=str(error)
            )
        self._ended.append(link.number)
        if len(self._ended) > LOGS_OF_ENDED:
            oldest = self._ended.popleft()
            for stream in ("out", "err"):
                self._places.log(oldest, stream).unlink(missing_ok=True)
        status = link.child.process.returncode
        self._log.debug("executor ended", executor=link.number, status=status)

    def _blame(self, number: int, what: str) -> None:
        self._log.error("executor broke the protocol", executor=number, reason=what)
