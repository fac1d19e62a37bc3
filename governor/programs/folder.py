"""The folder of an external program: its files before the start, and its outputs afterwards.

A program that takes a millisecond has few small files. These are handled at once in the governor's
loop; anything that may take longer is done in a thread. `is_quick_...` decides which.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

from rain.base.kinds import DataType
from rain.common.signals import signal_name
from rain.governor.core.results import Made, Outputs
from rain.governor.programs.builtin_files import BuiltinJob
from rain.governor.programs.printed import ProgramStreams, tail
from rain.governor.programs.program import ProgramConfig
from rain.governor.programs.sandbox import collect, copy_to, inside, link_to
from rain.governor.storage.store import MEMORY_LIMIT
from rain.stream.removing import remove

STDIN = "+in"
STDOUT = "+out"

FEW = 16
"""The most files that are handled without a thread."""

STDERR_TAIL = 1024 * 1024
STDOUT_TAIL = 16 * 1024
"""Bytes of printed output that go into the error of a failed program."""


def is_quick_to_lay_out(job: BuiltinJob, program: ProgramConfig) -> bool:
    """Whether the files of the program are few and small."""
    inputs = job.effect.inputs
    if len(inputs) + len(program.out_paths) > FEW:
        return False
    return all(
        not entry.get("write")
        if isinstance(source.content, int)
        else source.kind.data_type is DataType.BLOB
        for source, entry in zip(inputs, program.in_paths, strict=True)
    )


def lay_out(job: BuiltinJob, program: ProgramConfig) -> None:
    """Creates the folder with the inputs, and the parent folders of the outputs."""
    folder = job.folder
    os.mkdir(folder)  # noqa: PTH102 # runs for each program, so it must be fast
    for source, entry in zip(job.effect.inputs, program.in_paths, strict=True):
        place: Callable[..., None] = copy_to if entry.get("write") else link_to
        place(job.store, source, inside(folder, entry.get("path")))
    for path in program.out_paths:
        parent = inside(folder, path).parent
        if parent != folder:
            parent.mkdir(parents=True, exist_ok=True)


def is_quick_to_take(job: BuiltinJob, program: ProgramConfig, succeeded: bool) -> bool:
    """Whether the program has left few and small files, and all its outputs are among them."""
    found: set[str] = set()
    try:
        with os.scandir(job.folder) as entries:
            for entry in entries:
                status = entry.stat(follow_symlinks=False)
                is_file = stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode)
                if not is_file or status.st_size >= MEMORY_LIMIT or len(found) == FEW:
                    return False
                found.add(entry.name)
    except OSError:  # it is gone or protected
        return False
    return not succeeded or all(
        path in found and not (job.folder / path).is_symlink() for path in program.out_paths
    )


def outputs(job: BuiltinJob, program: ProgramConfig) -> Outputs:
    """Takes the outputs of the program from their paths."""
    made: Outputs = []
    for path, kind in zip(program.out_paths, job.effect.outputs, strict=True):
        content = collect(job.store, inside(job.folder, path), path, kind)
        made.append(content if isinstance(content, bytes) else Made(content))
    return made


def clear(folder: Path) -> None:
    """Removes the folder and its contents."""
    try:
        for name in os.listdir(folder):  # noqa: PTH208 # as in `lay_out`
            os.unlink(folder / name)  # noqa: PTH108 # as above
        os.rmdir(folder)  # noqa: PTH106 # as above
    except OSError:  # it contains folders or protected files
        remove(folder)


def why_failed(program: ProgramConfig, said: ProgramStreams, status: int) -> str:
    """How the program has ended, with the end of its output."""
    if status > 0:
        ending = f"ended with exit code {status}"
    else:
        ending = f"was killed by {signal_name(-status)}"
    errors, printed = tail(said.stderr, STDERR_TAIL), tail(said.stdout, STDOUT_TAIL)
    text = f"the program {program.args[0]!r} {ending}"
    if errors:
        text += f"\nIts stderr:\n{errors}"
    else:
        full = "" if os.fstatvfs(said.stderr).f_bavail else ", and the disk of its folder is full"
        text += f"; its stderr is empty{full}"
    return f"{text}\nIts stdout:\n{printed}" if printed else text
