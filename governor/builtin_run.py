"""The task `run`: an external program in a folder of its own."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import trio
from attrs import frozen

from rain.base.ids import session_of
from rain.governor.builtin_files import Job
from rain.governor.gpus import VISIBLE
from rain.governor.messages import Made, Outputs
from rain.governor.sandbox import BuiltinError, collect, copy_to, inside, link_to
from rain.governor.strays import kill_tree, marked
from rain.governor.warden import Warden

STDIN = "+in"
STDOUT = "+out"
STDERR = "+err"


@frozen
class Program:
    """The configuration: words, and which input and output is which file."""

    args: list[str]
    in_paths: list[dict[str, Any]]
    out_paths: list[str]

    @staticmethod
    def of(job: Job) -> Program:
        args: list[Any] = job.setting("args", list)
        in_paths: list[Any] = job.setting("in_paths", list)
        if not args or not all(isinstance(word, str) for word in args):
            raise BuiltinError("there is no program to run: args is empty, or has more than texts")
        if not all(isinstance(entry, dict) for entry in in_paths):
            raise BuiltinError("in_paths is not a list of tables")
        program = Program(args, in_paths, job.setting("out_paths", list))
        if len(program.in_paths) != len(job.effect.inputs):
            raise BuiltinError("in_paths does not name a file for each input")
        if len(program.out_paths) != len(job.effect.outputs):
            raise BuiltinError("out_paths does not name a file for each output")
        return program


async def run(job: Job, warden: Warden) -> Outputs:
    """Runs the program, and takes its outputs when it succeeds."""
    program = Program.of(job)
    folder = job.folder / "task"
    await trio.to_thread.run_sync(_lay_out, job, program, folder)
    words = (
        warden.origin.run(job.effect.run),
        warden.origin.session(session_of(job.effect.kind.id)),
    )
    process = _start(program, folder, job.effect.gpus, words)
    warden.watch(process.pid)
    ended = False
    try:
        await _end_of(process)
        ended = True
    finally:
        # Whatever it has started goes with it: all share its process group.
        kill_tree(process.pid)
        warden.release(process.pid)
        if not ended:  # what a program leaves behind that has ended goes with its session
            warden.strays.end(words[0])
        status = process.wait()
    if status:
        raise BuiltinError(await trio.to_thread.run_sync(_why, program, folder, status))
    return await trio.to_thread.run_sync(_outputs, job, program, folder)


def _lay_out(job: Job, program: Program, folder: Path) -> None:
    folder.mkdir()
    for source, entry in zip(job.effect.inputs, program.in_paths, strict=True):
        place: Callable[..., None] = copy_to if entry.get("write") else link_to
        place(job.store, source, inside(folder, entry.get("path")))
    for path in program.out_paths:
        inside(folder, path).parent.mkdir(parents=True, exist_ok=True)


def _start(
    program: Program, folder: Path, gpus: tuple[str, ...] | None, words: tuple[str, ...]
) -> subprocess.Popen[bytes]:
    environment = marked(os.environ, *words)
    if gpus is not None:
        environment[VISIBLE] = ",".join(gpus)
    with ExitStack() as files:
        given = folder / STDIN
        stdin = files.enter_context(given.open("rb")) if given.exists() else subprocess.DEVNULL
        stdout = files.enter_context((folder / STDOUT).open("wb"))
        stderr = files.enter_context((folder / STDERR).open("wb"))
        try:
            return subprocess.Popen(
                program.args,
                cwd=folder,
                env=environment,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise BuiltinError(f"the program {program.args[0]!r} cannot be run: {reason}") from None


async def _end_of(process: subprocess.Popen[bytes]) -> None:
    descriptor = os.pidfd_open(process.pid)
    try:
        await trio.lowlevel.wait_readable(descriptor)
    finally:
        os.close(descriptor)


def _why(program: Program, folder: Path, status: int) -> str:
    said = (folder / STDERR).read_text(errors="replace").rstrip()
    if status > 0:
        ending = f"ended with exit code {status}"
    else:
        ending = f"was killed by {signal.Signals(-status).name}"
    if said:
        return f"the program {program.args[0]!r} {ending}\nIts stderr:\n{said}"
    full = "" if os.statvfs(folder).f_bavail else ", and the disk of its folder is full"
    return f"the program {program.args[0]!r} {ending}; its stderr is empty{full}"


def _outputs(job: Job, program: Program, folder: Path) -> Outputs:
    outputs: Outputs = []
    for path, kind in zip(program.out_paths, job.effect.outputs, strict=True):
        content = collect(job.store, inside(folder, path), path, kind)
        outputs.append(content if isinstance(content, bytes) else Made(content))
    return outputs
