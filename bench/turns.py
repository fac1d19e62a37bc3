"""Runs the systems in turns, each in separate processes, and leaves no process behind.

A turn that shows nothing new for a while has hung: its process group is killed, and the run
continues with the next turn. Every process of a turn has a mark in its environment, which its
children inherit, so processes that have left the group are found and killed too.
"""

import json
import os
import secrets
import select
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from attrs import define, field, frozen
from rich.console import Console

from bench.marks import MARK, end_marked
from bench.results import Quantity, Results
from bench.runners import OURS, SYSTEMS, System
from bench.turn import Figure, Options

TOP = Path(__file__).parents[1]
LAST_WORDS = 1500  # characters of a failed turn's output that are shown


@frozen
class Plan:
    """The plan of all turns."""

    module: str  # has the function `measure`
    options: Options
    repeat: int
    limit_seconds: float  # a turn without output for this long has hung
    environment: dict[str, str] = field(factory=dict)


def choose_systems(peers: Sequence[str], console: Console) -> tuple[System, ...]:
    """Rain and the installed peers; prints how to install the others."""
    chosen = [OURS]
    for name in peers:
        system = SYSTEMS[name]
        if system.is_installed():
            chosen.append(system)
        else:
            console.print(f"{name} is not installed: pip install '.\\[bench]'")
    return tuple(chosen)


@define
class Turn:
    """Iterates over the figures of one turn; afterwards `problem` says why it failed, if so."""

    system: System
    plan: Plan
    problem: str = ""

    def figures(self) -> Iterator[Figure]:
        mark = secrets.token_hex(8)
        with TemporaryDirectory(prefix="rb-", ignore_cleanup_errors=True) as folder:
            out, theirs = os.pipe()
            said = Path(folder) / "said"
            with said.open("wb") as stderr:
                process = subprocess.Popen(
                    [
                        *(sys.executable, "-m", "bench.turn", self.system.name, self.plan.module),
                        *("--options", json.dumps(self.plan.options), "--out", str(theirs)),
                    ],
                    cwd=folder,
                    env=self._environment(folder, mark),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=stderr,
                    pass_fds=(theirs,),
                    start_new_session=True,
                )
            os.close(theirs)
            try:
                wrong = yield from self._read(process, out)
                if wrong:
                    words = said.read_text(errors="replace").strip()[-LAST_WORDS:]
                    self.problem = f"{self.system.name} {wrong}" + (words and f":\n{words}")
            finally:
                os.close(out)
                _end_group(process)
                end_marked(mark)

    def _environment(self, folder: str, mark: str) -> dict[str, str]:
        # The checkout comes first: the workers of all systems import the functions from there.
        path = os.pathsep.join(filter(None, [str(TOP), os.environ.get("PYTHONPATH", "")]))
        return {
            **os.environ,
            "PYTHONPATH": path,
            "TMPDIR": folder,
            "RAY_TMPDIR": folder,
            "RAY_USAGE_STATS_ENABLED": "0",
            MARK: mark,
            **self.plan.environment,
        }

    def _read(self, process: "subprocess.Popen[bytes]", out: int) -> Generator[Figure, None, str]:
        """Yields figures until the process ends, with a limit for each; returns the problem."""
        limit = self.plan.limit_seconds
        rest = b""
        ended = os.pidfd_open(process.pid)
        try:
            while True:
                readable, _, _ = select.select([out, ended], [], [], limit)
                if not readable:
                    return f"showed nothing for {limit:.0f} s and was killed"
                piece = os.read(out, 65536) if out in readable else b""
                if not piece:  # end of output; the process may take a while to end
                    return _wrong_end(process, limit)
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    name, seconds, detail = json.loads(line)
                    yield name, seconds, detail
        finally:
            os.close(ended)


def _wrong_end(process: "subprocess.Popen[bytes]", limit: float) -> str:
    """Waits for the end of a process; returns what is wrong with it, or ""."""
    try:
        status = process.wait(limit)
    except subprocess.TimeoutExpired:
        return f"showed everything, but did not end for {limit:.0f} s and was killed"
    if status == 0:
        return ""
    how = f"exit status {status}" if status > 0 else signal.Signals(-status).name
    return f"failed ({how})"


def _end_group(process: "subprocess.Popen[bytes]") -> None:
    """Kills the process and its process group."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def measure_in_turns(
    systems: Sequence[System], quantities: Sequence[Quantity], plan: Plan, console: Console
) -> Results:
    """Runs the systems one after the other, and repeats that.

    The console shows the progress: continuously in a terminal, else after each turn.
    """
    results = Results(tuple(quantities), tuple(system.name for system in systems))
    for number in range(plan.repeat):
        for system in systems:
            turn = Turn(system, plan)
            title = f"{system.name}, turn {number + 1} of {plan.repeat}"
            start = perf_counter()
            with console.status(title) as status:
                for name, seconds, detail in turn.figures():
                    results.add(system.name, name, seconds, detail)
                    status.update(f"{title}: {name} is done")
            if not console.is_terminal:
                console.print(f"{title}: {perf_counter() - start:.0f} s", highlight=False)
            if turn.problem:
                console.print(turn.problem, style="red", markup=False)
                results.fail(system.name, turn.problem)
    return results
