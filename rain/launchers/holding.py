"""Runs governors inside a process of another system: a worker of Dask, or an actor of Ray.

That process calls these functions. Its governors end with it, in whatever way it ends, because they
watch a pipe whose other end it holds.
"""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from pathlib import Path
from signal import SIGKILL, SIGTERM, Signals
from threading import Thread

from attrs import define

from rain.launchers.interface import JobState, Standing

CPUS = "RAIN_CPUS"
"""The variable with the number of cpus of a governor."""

_GRACE = 30.0  # seconds that a governor has to drain, and then a little


@define
class _Held:
    process: subprocess.Popen[bytes]
    pipe: int  # our end; theirs reports when this process has ended


_HELD: dict[str, _Held] = {}


def begin(script: str, output: str, cpus: int) -> str:
    """Starts a governor with the script of its job; returns its name in this process."""
    theirs, ours = os.pipe()
    try:
        with Path(output).open("ab") as log:
            process = subprocess.Popen(
                ["/bin/sh", "-s", "--", "--parent-fd", str(theirs)],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                pass_fds=(theirs,),
                env={**os.environ, CPUS: str(cpus)},
                start_new_session=True,
            )
    except OSError:
        os.close(ours)
        raise
    finally:
        os.close(theirs)
    assert process.stdin is not None
    with process.stdin as pipe:
        pipe.write(script.encode())
    name = str(process.pid)
    _HELD[name] = _Held(process, ours)
    return name


def count() -> int:
    """How many governors this process holds that have not ended."""
    return sum(held.process.poll() is None for held in _HELD.values())


def look(name: str) -> Standing | None:
    """The state of a governor; None if this process has none of that name."""
    held = _HELD.get(name)
    if held is None:
        return None
    status = held.process.poll()
    if status is None:
        return Standing(JobState.RUNNING)
    why = f"status {status}" if status > 0 else f"signal {-status}" if status else ""
    return Standing(JobState.ENDED, why)


def end(name: str, *, waits: bool = False) -> None:
    """Lets a governor drain and end, and kills it when its time is over.

    The calling process may do other things meanwhile, or wait for its end.
    """
    held = _HELD.pop(name, None)
    if held is None:
        return
    _tell(held, SIGTERM)
    ending = Thread(target=_wait, args=(held,), name=f"rain-end-{name}", daemon=True)
    ending.start()
    if waits:
        ending.join()


def _wait(held: _Held) -> None:
    try:
        held.process.wait(_GRACE)
    except subprocess.TimeoutExpired:
        _tell(held, SIGKILL)
        held.process.wait()
    os.close(held.pipe)


def _tell(held: _Held, number: Signals) -> None:
    if held.process.poll() is None:
        with suppress(ProcessLookupError):  # it has just ended
            os.killpg(held.process.pid, number)
