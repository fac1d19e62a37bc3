"""The task `run`: external programs, each in its own folder and process group.

Short steps run in the loop: creating the files of the folder, the start, and the work after the
end, which a pidfd reports. Passing each step on to a thread would cost more than starting a
program. Steps that may take longer run in threads.

A program that is stopped gets SIGINT, as from Ctrl-C, and is killed when the grace is over.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING

import trio
from attrs import define

from rain.base.ids import session_of
from rain.base.shortage import is_shortage
from rain.governor.core.effects import RunBuiltin
from rain.governor.core.events import BuiltinDone, KernelKill
from rain.governor.core.results import STOPPED, Failed, Outputs
from rain.governor.machine.strays import kill_tree, marked
from rain.governor.programs.builtin_files import BuiltinJob
from rain.governor.programs.folder import (
    STDIN,
    STDOUT,
    clear,
    is_quick_to_lay_out,
    is_quick_to_take,
    lay_out,
    outputs,
    why_failed,
)
from rain.governor.programs.not_started import why_not_started
from rain.governor.programs.printed import ProgramStreams, logs_of, look_at_descriptors
from rain.governor.programs.program import ProgramConfig
from rain.governor.programs.sandbox import BuiltinError, attempt, attempt_in_a_thread
from rain.governor.watching import Look
from rain.governor.workplace import Workplace
from rain.rpc.background import DescriptorWatch, Timer

if TYPE_CHECKING:
    from rain.governor.environments.folder import MadeEnvironment
    from rain.governor.programs.environment import WaitingPrograms


@define(eq=False)
class ProgramRun:
    """One program, from before its start until its task has ended."""

    job: BuiltinJob
    program: ProgramConfig
    began: float
    made: MadeEnvironment | None  # that of its task, if it has one
    process: subprocess.Popen[bytes] | None = None
    watch: DescriptorWatch | None = None
    descriptor: int = -1  # the pidfd
    said: ProgramStreams | None = None
    timer: Timer | None = None
    timed_out: bool = False
    stopped: bool = False
    by_kernel: KernelKill | None = None

    @property
    def is_alive(self) -> bool:
        """Whether the program was started and not reaped; else its pid may be another process."""
        return self.process is not None and self.process.returncode is None

    def interrupt(self) -> None:
        """Sends SIGINT to the group of the process."""
        if self.process is not None and self.is_alive:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGINT)

    def kill(self) -> None:
        """Ends the process and whatever it has started, as far as that is below it."""
        if self.process is not None and self.is_alive:
            kill_tree(self.process.pid)

    def kill_group(self) -> None:
        """Ends what is left of the group of the process, which has ended: nothing is below it."""
        if self.process is not None and self.is_alive:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)


class Programs:
    """All external programs of the governor."""

    def __init__(self, place: Workplace) -> None:
        self._place = place
        self._runs: dict[int, ProgramRun] = {}
        self._waiting: WaitingPrograms | None = None  # until one has an environment
        self._environment = dict(os.environ)
        place.background.start(self._end_with_the_governor)

    def start(self, effect: RunBuiltin) -> None:
        """Starts a program; `BuiltinDone` follows."""
        if not effect.kind.environment:
            self._start(effect, None)
            return
        if self._waiting is None:
            from rain.governor.programs.environment import WaitingPrograms  # noqa: PLC0415 # few need it

            self._waiting = WaitingPrograms(self._place, self._start)
        self._waiting.begin(effect)

    def _start(self, effect: RunBuiltin, made: MadeEnvironment | None) -> None:
        began = time.monotonic()
        job = BuiltinJob(effect, self._place.store, self._place.folder / str(effect.run))
        program = attempt(effect, ProgramConfig.of, job)
        if isinstance(program, Failed):
            self._place.tell(BuiltinDone(effect.run, 0.0, program))
            return
        run = self._runs[effect.run] = ProgramRun(job, program, began, made)
        if is_quick_to_lay_out(job, program):
            self._begin(run, attempt(effect, lay_out, job, program))
        else:
            self._place.background.start(self._begin_slowly, run)

    async def _begin_slowly(self, run: ProgramRun) -> None:
        job = run.job
        laid_out = await attempt_in_a_thread(job.effect, lay_out, job, run.program)
        self._begin(run, laid_out)

    def _begin(self, run: ProgramRun, laid_out: Failed | None) -> None:
        """Starts the process, if its files could be created."""
        failed = STOPPED if run.stopped else laid_out
        if failed is None:
            failed = attempt(run.job.effect, self._spawn, run)
        if failed is not None:
            self._finish(run, failed)

    def _spawn(self, run: ProgramRun) -> None:
        wanted = str(run.job.folder / STDOUT) if STDOUT in run.program.out_paths else ""
        said = run.said = ProgramStreams.open_in(self._place.folder, wanted)
        given = self._environment
        if run.made is not None:
            given = run.made.added_to(given, for_rain=False)
        process = run.process = _spawned(run, said, marked(given, *self._words(run)))
        self._place.warden.watch(process.pid)
        self._place.bounds.bind(process.pid, self._words(run)[0])
        try:
            run.descriptor = os.pidfd_open(process.pid)
        except OSError:
            self._let_go(run, process)
            raise
        run.watch = self._place.background.watch(run.descriptor, lambda: self._ended(run, process))

    def stop(self, number: int, grace: float | None = None, *, timed_out: bool = False) -> None:
        """Stops a program whose result is not wanted; `BuiltinDone` still follows."""
        if self._waiting is not None and self._waiting.stop(number):
            return
        run = self._runs.get(number)
        if run is None or (run.stopped and timed_out):
            return
        run.timed_out = timed_out
        if run.stopped:
            return
        run.stopped = True
        if not run.is_alive:
            return  # it is not started any more, or has ended
        if run.timer is not None:
            run.timer.cancel()
        run.interrupt()
        run.timer = self._place.background.later(
            self._place.grace if grace is None else grace, run.kill
        )

    def printed(self, number: int) -> str:
        """The printed text of a program so far, without a stdout that is its output."""
        run = self._runs.get(number)
        if run is None or run.said is None:
            return ""
        return logs_of(run.said, hides_stdout=STDOUT in run.program.out_paths)

    def look_at(self, number: int) -> Look | None:
        """Looks at what a program prints, but for a stdout that is its output."""
        run = self._runs.get(number)
        if run is None or run.said is None:
            return None
        hides_stdout = STDOUT in run.program.out_paths
        return look_at_descriptors((None if hides_stdout else run.said.stdout, run.said.stderr))

    def pids(self) -> dict[int, int]:
        """The process of each program that runs."""
        alive = ((number, run.process) for number, run in self._runs.items() if run.is_alive)
        return {number: process.pid for number, process in alive if process is not None}

    def printing(self) -> Iterator[int]:
        """The files that programs print into, but for a stdout that is an output."""
        for run in self._runs.values():
            if run.said is not None:
                if STDOUT not in run.program.out_paths:
                    yield run.said.stdout
                yield run.said.stderr

    def _ended(self, run: ProgramRun, process: subprocess.Popen[bytes]) -> None:
        run.kill_group()
        status = self._reap(run, process)
        failed: Failed | None = None
        if run.stopped and not run.timed_out:
            failed = STOPPED
        elif status == -signal.SIGKILL and not run.stopped:
            run.by_kernel = self._place.kills.take_one()
        if failed is None and status:
            failed = attempt(run.job.effect, _failure, run, status)
        self._finish(run, failed)

    def _let_go(self, run: ProgramRun, process: subprocess.Popen[bytes]) -> int:
        """Kills the process, which may still run, and reaps it."""
        run.kill()
        return self._reap(run, process)

    def _reap(self, run: ProgramRun, process: subprocess.Popen[bytes]) -> int:
        """Waits for a process that has ended or was killed, and gives its status."""
        if run.timer is not None:
            run.timer.cancel()
        if run.watch is not None:
            run.watch.stop()
            run.watch = None
            os.close(run.descriptor)
        self._place.warden.release(process.pid)
        status = process.wait()
        if run.stopped:  # else what it has started ends with its session
            self._place.warden.strays.end(self._words(run)[0])
        elif self._place.bounds.groups is not None:
            self._place.bounds.groups.leave(*self._words(run))
        return status

    def _words(self, run: ProgramRun) -> tuple[str, str]:
        """The marks by which the processes that it has started are found anywhere."""
        origin, effect = self._place.warden.origin, run.job.effect
        return origin.run(effect.run), origin.session(session_of(effect.kind.id))

    def _finish(self, run: ProgramRun, failed: Failed | None) -> None:
        """Takes the outputs of the program and removes its folder."""
        if is_quick_to_take(run.job, run.program, failed is None):
            self._done(run, _take(run, failed))
        else:
            self._place.background.start(self._finish_slowly, run, failed)

    async def _finish_slowly(self, run: ProgramRun, failed: Failed | None) -> None:
        self._done(run, await attempt_in_a_thread(run.job.effect, _take, run, failed))

    def _done(self, run: ProgramRun, result: Outputs | Failed) -> None:
        effect, logs = run.job.effect, ""
        if run.said is not None:
            hides_stdout = STDOUT in run.program.out_paths and not isinstance(result, Failed)
            logs = logs_of(run.said, hides_stdout=hides_stdout)
        seconds = time.monotonic() - run.began
        # The reader of this may look at what the program has printed.
        self._place.tell(BuiltinDone(effect.run, seconds, result, logs, run.by_kernel))
        if run.said is not None:
            run.said.close()
        del self._runs[effect.run]

    async def _end_with_the_governor(self) -> None:
        try:
            await trio.sleep_forever()
        finally:
            for run in self._runs.values():
                run.stopped = True
                if run.process is not None and run.is_alive:
                    self._let_go(run, run.process)
                    if run.said is not None:
                        run.said.close()


def _spawned(
    run: ProgramRun, said: ProgramStreams, environment: dict[str, str]
) -> subprocess.Popen[bytes]:
    """Starts the process; raises BuiltinError if it cannot be started."""
    program, effect, folder = run.program, run.job.effect, run.job.folder
    variables = program.environment(environment, effect.kind.resources.cpus, effect.gpus)
    has_stdin = bool(effect.inputs) and (folder / STDIN).exists()
    with (folder / STDIN).open("rb") if has_stdin else nullcontext(subprocess.DEVNULL) as stdin:
        try:
            return subprocess.Popen(
                program.args,
                cwd=folder,
                env=variables,
                stdin=stdin,
                stdout=said.stdout,
                stderr=said.stderr,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            if isinstance(error, OSError) and is_shortage(error):
                raise
            name, reason = program.args[0], str(error)
            if isinstance(error, OSError):
                reason = why_not_started(name, folder, variables.get("PATH"), error)
            raise BuiltinError(
                f"the program {name!r} cannot be run on {socket.gethostname()}: {reason}"
            ) from None


def _failure(run: ProgramRun, status: int) -> Failed:
    assert run.said is not None
    why = why_failed(run.program, run.said, status)
    return Failed(why, status=status)


def _take(run: ProgramRun, failed: Failed | None) -> Outputs | Failed:
    job = run.job
    try:
        return attempt(job.effect, outputs, job, run.program) if failed is None else failed
    finally:
        # A process that left the group may still write there; the folder is then removed when the
        # governor ends.
        with suppress(OSError):
            clear(job.folder)
