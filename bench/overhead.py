"""`python -m bench overhead`: what a task costs, on ours and on the peers, in turns."""

import subprocess
import sys
from collections.abc import Sequence
from json import loads
from pathlib import Path
from tempfile import TemporaryDirectory

import click
from attrs import frozen
from rich.console import Console

from bench.runners import OURS, PEERS, System
from bench.shapes import Shape, overhead_shapes

# Far longer than any system needs: a turn that takes so long will never end.
TURN_LIMIT_SECONDS = 1800


@frozen
class Results:
    """All that was measured: seconds by system and shape, one for each turn."""

    shapes: tuple[Shape, ...]
    systems: tuple[str, ...]
    seconds: dict[str, dict[str, list[float]]]

    def of(self, system: str, shape: Shape) -> list[float]:
        return self.seconds[system][shape.name]


def choose_systems(peers: Sequence[str], console: Console) -> tuple[System, ...]:
    """Ours and those peers that are installed; a line says what to do about the others."""
    chosen = [OURS]
    for name in peers:
        system = PEERS[name]
        if system.is_installed():
            chosen.append(system)
        else:
            console.print(f"{name} is not installed: pip install '.\\[bench]'")
    return tuple(chosen)


def run_turn(system: System, tasks: int, cpus: int) -> dict[str, float]:
    """Let one system measure itself in a process of its own."""
    with TemporaryDirectory(prefix="rain-bench-") as folder:
        out = Path(folder) / "seconds.json"
        command = [sys.executable, "-m", "bench.turn", system.name]
        options = ["--tasks", str(tasks), "--cpus", str(cpus), "--out", str(out)]
        try:
            turn = subprocess.run(
                [*command, *options],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                timeout=TURN_LIMIT_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise click.ClickException(
                f"{system.name} did not end within {TURN_LIMIT_SECONDS} seconds"
            ) from error
        if turn.returncode or not out.exists():
            raise click.ClickException(f"{system.name} failed:\n{turn.stderr.strip()}")
        seconds: dict[str, float] = loads(out.read_text())
        return seconds


def measure_all(
    systems: Sequence[System], tasks: int, repeat: int, cpus: int, console: Console
) -> Results:
    """Run the systems one after the other, and that as often as was asked for."""
    shapes = overhead_shapes(tasks)
    seconds: dict[str, dict[str, list[float]]] = {
        system.name: {shape.name: [] for shape in shapes} for system in systems
    }
    for turn in range(repeat):
        for system in systems:
            with console.status(f"{system.name}, turn {turn + 1} of {repeat}"):
                measured = run_turn(system, tasks, cpus)
            for shape in shapes:
                seconds[system.name][shape.name].append(measured[shape.name])
    return Results(shapes, tuple(system.name for system in systems), seconds)
