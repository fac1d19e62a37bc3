"""`python -m bench overhead`: what a task costs, on ours and on the peers, in turns."""

import subprocess
import sys
from collections.abc import Sequence
from json import loads
from pathlib import Path
from tempfile import TemporaryDirectory

import click
from rich.console import Console

from bench.options import WRITABLE, Delivery, delivery_options, peers_option, repeat_option
from bench.plot import draw, require_matplotlib
from bench.report import overhead_sheet, overhead_values
from bench.results import Results
from bench.runners import OURS, PEERS, System
from bench.shapes import overhead_shapes

# Far longer than any system needs: a turn that takes so long will never end.
TURN_LIMIT_SECONDS = 1800


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


@click.command(name="overhead")
@click.option("--tasks", type=click.IntRange(min=2), default=10_000, show_default=True)
@repeat_option(3)
@click.option("--cpus", type=click.IntRange(min=1), default=2, show_default=True)
@peers_option
@delivery_options
@click.option("--plot", "plot_file", type=WRITABLE, help="Draw a plot: .svg, .png or .pdf.")
def command(
    tasks: int,
    repeat: int,
    cpus: int,
    peers: tuple[str, ...],
    json_file: Path | None,
    markdown: bool,
    plot_file: Path | None,
) -> None:
    """Tiny tasks in five shapes, on Rain and on its peers in turns."""
    if plot_file:
        require_matplotlib()
    console = Console()
    systems = choose_systems(peers, console)
    results = measure_all(systems, tasks, repeat, cpus, console)
    Delivery(json_file, markdown).deliver(
        console,
        "overhead",
        [overhead_sheet(results)],
        {"cpus_used": cpus, "turns": repeat, "shapes": overhead_values(results)},
        [system.distribution for system in systems],
    )
    if plot_file:
        draw(results, plot_file)
