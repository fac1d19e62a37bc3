"""Where the microseconds of a task go: client, wire, server, governor, executors.

The kernel's clocks give the exact CPU time of each process. The daemons are also sampled
(`RAIN_PROFILE`, rain/daemon/sampling.py), and the samples divide the time of a process among the
packages of the code. In the client, the main thread counts as the client, and the thread of its
connection as the wire.
"""

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

from attrs import frozen
from rich.console import Console

from bench.processes import cpu_seconds
from bench.runners import OURS, Runner, System
from bench.shapes import Shape, chain, independent
from bench.sheet import Sheet
from bench.turn import Figure, Options, timed
from bench.turns import Plan, Turn
from rain.daemon.sampling import VARIABLE

LOOPS = {"trio", "outcome"}
SAMPLER = "rain.daemon.sampling."
CALLS = 200  # of the profiled round trips
LEAST_SHARE = 0.005  # smaller packages are left out of the table
ROUNDS = 5  # of the other shapes, because a sample is taken only every 2 ms


def room_of(stack: str) -> str:
    """The package of a stack: that of its innermost function in our code."""
    names = stack.split(";")
    if names[-1].partition(".")[0] in LOOPS:
        return "loops"
    for name in reversed(names):
        if name.startswith(SAMPLER):  # the sampler itself was interrupted
            continue
        package, _, rest = name.partition(".")
        if package in {"rain", "bench"}:
            return f"{package}.{rest.partition('.')[0]}"
    return "elsewhere"


def roles(folder: Path) -> dict[int, str]:
    """The roles of the sampled processes by pid, from the names of their files."""
    found: dict[int, str] = {}
    for file in sorted(folder.glob("*.stacks")):
        role, _, pid = file.stem.rpartition("-")
        found[int(pid)] = role
    return found


@frozen
class Clocks:
    """The CPU times of all processes so far, and the positions in their sample files."""

    cpu: dict[tuple[str, str], float]  # by process and package; "" if samples tell the package
    files: dict[Path, int]


def read_clocks(folder: Path) -> Clocks:
    cpu: defaultdict[tuple[str, str], float] = defaultdict(float)
    for pid, role in roles(folder).items():
        cpu[role, ""] += cpu_seconds(pid)
    for thread in threading.enumerate():
        if thread.ident is not None:
            seconds = time.clock_gettime(time.pthread_getcpuclockid(thread.ident))
            is_main = thread is threading.main_thread()
            cpu["client", "rain.client" if is_main else "rain.rpc"] += seconds
    return Clocks(dict(cpu), {file: file.stat().st_size for file in folder.glob("*.stacks")})


def samples_between(before: Clocks, after: Clocks) -> dict[str, list[str]]:
    """The stacks of each role that were sampled between two readings."""
    found: dict[str, list[str]] = {}
    for file, end in after.files.items():
        with file.open("rb") as lines:
            lines.seek(before.files.get(file, 0))
            stacks = lines.read(end - lines.tell()).decode().splitlines()
        found.setdefault(file.stem.rpartition("-")[0], []).extend(stacks)
    return found


def shared_out(before: Clocks, after: Clocks, tasks: int) -> list[tuple[str, str, float]]:
    """Process, package, and its microseconds per task."""
    samples = samples_between(before, after)
    rows: list[tuple[str, str, float]] = []
    for (role, room), seconds in after.cpu.items():
        used = (seconds - before.cpu.get((role, room), 0.0)) / tasks * 1e6
        if room:
            rows.append((role, room, used))
            continue
        rooms = Counter(map(room_of, samples.get(role, [])))
        rows += [
            (role, name, used * count / rooms.total()) for name, count in rooms.most_common()
        ] or [(role, "not sampled", used)]
    return rows


def profiled_shapes(tasks: int) -> list[Shape]:
    return [independent(tasks), chain(min(tasks, 1000))]


def measure(system: System, runner: Runner, options: Options) -> Iterator[Figure]:
    folder = Path(options["folder"])

    def figure(name: str, tasks: int, before: Clocks, seconds: float) -> Figure:
        after = read_clocks(folder)
        stacks = samples_between(before, after)
        return name, seconds, {"rows": shared_out(before, after, tasks), "stacks": stacks}

    for shape in profiled_shapes(options["tasks"]):
        before = read_clocks(folder)
        seconds = sum(timed(runner, shape) for _ in range(ROUNDS))
        yield figure(shape.name, shape.task_count * ROUNDS, before, seconds)
    with runner.calling() as call:
        call(0)
        before = read_clocks(folder)
        start = time.perf_counter()
        for number in range(CALLS):
            call(number)
        yield figure("round trip", CALLS, before, time.perf_counter() - start)


def profile(
    tasks: int, cpus: int, limit: float, stacks_file: Path | None, console: Console
) -> list[tuple[Sheet, dict[str, object]]]:
    """Profiles a turn of Rain: a table for each shape, and its values."""
    found: list[tuple[Sheet, dict[str, object]]] = []
    collapsed: Counter[str] = Counter()
    with TemporaryDirectory(prefix="rb-profile-") as folder:
        options: Options = {"cpus": cpus, "tasks": tasks, "folder": folder}
        turn = Turn(OURS, Plan("bench.profiled", options, 1, limit, {VARIABLE: folder}))
        with console.status("where the microseconds go"):
            for name, _, detail in turn.figures():
                told = cast("dict[str, Any]", detail)
                rows: list[tuple[str, str, float]] = [tuple(row) for row in told["rows"]]
                found.append((profile_sheet(name, rows), {"name": name, "rows": rows}))
                by_role: dict[str, list[str]] = told["stacks"]
                for role, stacks in by_role.items():
                    collapsed.update(f"{name};{role};{stack}" for stack in stacks)
        if turn.problem:
            console.print(turn.problem, style="red", markup=False)
    if stacks_file:
        stacks_file.write_text("".join(f"{stack} {count}\n" for stack, count in collapsed.items()))
    return found


def profile_sheet(name: str, rows: Sequence[tuple[str, str, float]]) -> Sheet:
    """A table of processes with their packages, the most expensive first."""
    of_process: defaultdict[str, float] = defaultdict(float)
    for role, _, used in rows:
        of_process[role] += used
    together = sum(of_process.values())
    cells: list[tuple[str, ...]] = []
    for role, whole in sorted(of_process.items(), key=lambda item: -item[1]):
        cells.append((role, "all of it", f"{whole:.1f}", f"{whole / together:.0%}"))
        rooms = sorted((row for row in rows if row[0] == role), key=lambda row: -row[2])
        cells += [
            ("", room, f"{used:.1f}", f"{used / together:.0%}")
            for _, room, used in rooms
            if used >= LEAST_SHARE * together
        ]
    cells.append(("together", "", f"{together:.1f}", "100%"))
    return Sheet(
        title=f"Where the CPU time of a task goes: {name}",
        columns=("process", "package", "µs a task", "share"),
        rows=tuple(cells),
        caption=f"{name}: CPU time by the kernel's clocks, divided among packages by samples every"
        " 2 ms; rain.rpc is the wire.",
        words=2,
    )
