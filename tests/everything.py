"""Runs every test: `python -m tests.everything [--coverage]`.

Each folder of tests is a run of pytest of its own, and three of them run side by side on two cores,
because many tests wait for processes that they have started. What a run has printed is shown when
it ends, whole if a test has failed.

With `--coverage`, the folders that test the core are measured, each into a file of its own for
`coverage combine`.
"""

from __future__ import annotations

import compileall
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from attrs import frozen

HERE = Path(__file__).parent

AT_ONCE = 3

LONGEST = (
    "whole",
    "server",
    "simulation",
    "adapters",
    "launchers",
    "start",
    "governor",
    "scheduler",
    "bench",
)
"""These start first, so that nobody waits for one of them alone at the end."""

CODE = ("rain", "client", "governor", "tests", "bench")

MEASURED = ("graph", "governor", "scheduler", "server")
"""These must reach the lines of the core. Measuring makes a test up to three times as slow."""

_COUNTED = re.compile(r"(\d+) (passed|failed|errors?|skipped|xfailed|deselected)")


@frozen
class Part:
    """What one run of pytest is given."""

    name: str
    paths: tuple[str, ...]


@frozen
class Ended:
    """How a run has ended, and all that it has printed."""

    part: Part
    status: int
    output: str

    @property
    def last_line(self) -> str:
        return self.output.rstrip().rpartition("\n")[2]


def parts_of(files: Iterable[Path]) -> list[Part]:
    """One part for each folder, the longest first, and one for the files that are in none."""
    found: dict[str, list[str]] = {}
    for file in sorted(files):
        folder = file.parts[0] if len(file.parts) > 1 else ""
        found.setdefault(folder, []).append(folder or str(file))
    order = {name: place for place, name in enumerate(LONGEST)}
    names = sorted(found, key=lambda name: (order.get(name, len(order)), name))
    return [Part(name or "files", tuple(dict.fromkeys(found[name]))) for name in names]


def command(part: Part, *, measured: bool) -> list[str]:
    """The run of pytest for a part."""
    coverage = ["--cov", "--cov-report="] if measured else []
    paths = [f"{HERE.name}/{path}" for path in part.paths]
    return [sys.executable, "-m", "pytest", "-q", "--color=no", *coverage, *paths]


def write_bytecode() -> None:
    """For the processes that tests start: each would compile anew what it imports.

    Python itself writes nothing where PYTHONDONTWRITEBYTECODE is set, as in many containers.
    """
    for folder in CODE:
        compileall.compile_dir(HERE.parent / folder, quiet=1)


def run(part: Part, *, measured: bool) -> Ended:
    """Runs a part to its end."""
    answer = subprocess.run(
        command(part, measured=measured),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="backslashreplace",
        check=False,
        cwd=HERE.parent,
        env={**os.environ, "COVERAGE_FILE": str(HERE.parent / f".coverage.{part.name}")},
    )
    return Ended(part, answer.returncode, answer.stdout)


def report(ended: Ended) -> str:
    """A line for a run in which all went well, else everything."""
    if ended.status == 0:
        return f"{ended.part.name:10} {ended.last_line}\n"
    return f"\n{ended.part.name}: pytest has ended with {ended.status}\n{ended.output}\n"


def summary(all_ended: Sequence[Ended], seconds: float) -> str:
    """How many tests there were, and which parts have failed."""
    counts: Counter[str] = Counter()
    for ended in all_ended:
        for number, what in _COUNTED.findall(ended.last_line):
            counts[what] += int(number)
    told = ", ".join(f"{number} {what}" for what, number in counts.items())
    failed = [ended.part.name for ended in all_ended if ended.status]
    where = f"; failed in: {', '.join(failed)}" if failed else ""
    return f"{told} in {seconds:.0f} s{where}\n"


def status(all_ended: Sequence[Ended]) -> int:
    """The exit status for all of them: 0 if all went well."""
    return 1 if any(ended.status for ended in all_ended) else 0


def main(arguments: Sequence[str]) -> int:
    """Runs everything; returns the exit status."""
    coverage = "--coverage" in arguments
    started = time.monotonic()
    write_bytecode()
    parts = parts_of(file.relative_to(HERE) for file in HERE.rglob("test_*.py"))
    ended: list[Ended] = []
    with ThreadPoolExecutor(AT_ONCE) as pool:
        running = [
            pool.submit(run, part, measured=coverage and part.name in MEASURED) for part in parts
        ]
        try:
            for one in as_completed(running):
                ended.append(one.result())
                sys.stdout.write(report(ended[-1]))
                sys.stdout.flush()
        except KeyboardInterrupt:  # the runs of pytest have heard it too, and end
            pool.shutdown(cancel_futures=True)
            return 130
    sys.stdout.write(summary(ended, time.monotonic() - started))
    return status(ended)


if __name__ == "__main__":
    # A job in the background of a script has it ignored; tests send it to what they start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(main(sys.argv[1:]))
