"""The commands of the benchmarks."""

import json
from pathlib import Path

import click
from rich.console import Console

from bench.feel import feel_table, feel_values
from bench.feel import measure_all as measure_feel
from bench.machine import describe_machine
from bench.overhead import choose_systems
from bench.overhead import measure_all as measure_overhead
from bench.plot import draw, require_matplotlib
from bench.report import overhead_table, overhead_values
from bench.runners import OURS, PEERS
from bench.server_alone import measure_all as measure_server
from bench.server_alone import server_table, server_values

WRITABLE = click.Path(path_type=Path, dir_okay=False, writable=True)


def read_peers(ctx: click.Context, param: click.Parameter, value: str) -> tuple[str, ...]:
    """Names of peers with commas between them."""
    names = tuple(name.strip() for name in value.split(",") if name.strip())
    for name in names:
        if name not in PEERS:
            raise click.BadParameter(f"{name!r} is none of {', '.join(PEERS)}", ctx, param)
    return names


def read_sizes(ctx: click.Context, param: click.Parameter, value: str) -> tuple[int, ...]:
    """Numbers of tasks with commas between them."""
    try:
        sizes = tuple(int(size) for size in value.split(","))
    except ValueError as error:
        raise click.BadParameter(f"{value!r} is no list of numbers", ctx, param) from error
    if min(sizes) < 1:
        raise click.BadParameter("a size is at least 1", ctx, param)
    return sizes


@click.group()
def main() -> None:
    """Measure Rain: beside Dask and Ray, or its server alone."""


@main.command()
@click.option("--tasks", type=click.IntRange(min=2), default=10_000, show_default=True)
@click.option("--repeat", type=click.IntRange(min=1), default=3, show_default=True)
@click.option("--cpus", type=click.IntRange(min=1), default=2, show_default=True)
@click.option(
    "--peers",
    callback=read_peers,
    default=",".join(PEERS),
    show_default=True,
    help="Whom to compare with; empty for nobody.",
)
@click.option("--json", "json_file", type=WRITABLE, help="Write all measurements to this file.")
@click.option("--plot", "plot_file", type=WRITABLE, help="Draw a plot: .svg, .png or .pdf.")
def overhead(
    tasks: int,
    repeat: int,
    cpus: int,
    peers: tuple[str, ...],
    json_file: Path | None,
    plot_file: Path | None,
) -> None:
    """Tiny tasks in five shapes, on Rain and on its peers in turns."""
    if plot_file:
        require_matplotlib()
    console = Console()
    systems = choose_systems(peers, console)
    results = measure_overhead(systems, tasks, repeat, cpus, console)
    console.print(overhead_table(results))
    if json_file:
        _write(
            json_file,
            {
                "benchmark": "overhead",
                "machine": describe_machine(system.distribution for system in systems),
                "cpus_used": cpus,
                "turns": repeat,
                "shapes": overhead_values(results),
            },
        )
    if plot_file:
        draw(results, plot_file)


@main.command()
@click.option(
    "--tasks", "sizes", callback=read_sizes, default="1000,10000,100000", show_default=True
)
@click.option("--repeat", type=click.IntRange(min=1), default=3, show_default=True)
@click.option("--governors", type=click.IntRange(min=1), default=1, show_default=True)
@click.option("--json", "json_file", type=WRITABLE, help="Write all measurements to this file.")
def server(sizes: tuple[int, ...], repeat: int, governors: int, json_file: Path | None) -> None:
    """The server alone: its governors answer "finished" at once."""
    console = Console()
    samples = measure_server(sizes, governors, repeat, console)
    console.print(server_table(samples, governors))
    if json_file:
        _write(
            json_file,
            {
                "benchmark": "server",
                "machine": describe_machine([OURS.distribution, "pycapnp", "trio"]),
                "governors": governors,
                "samples": server_values(samples),
            },
        )


@main.command()
@click.option("--repeat", type=click.IntRange(min=1), default=5, show_default=True)
@click.option("--json", "json_file", type=WRITABLE, help="Write all measurements to this file.")
def feel(repeat: int, json_file: Path | None) -> None:
    """Times that a user notices: a start, a kill, a close."""
    console = Console()
    feelings = measure_feel(repeat, console)
    console.print(feel_table(feelings))
    if json_file:
        _write(
            json_file,
            {
                "benchmark": "feel",
                "machine": describe_machine([OURS.distribution, "pycapnp", "trio"]),
                "figures": feel_values(feelings),
            },
        )


def _write(file: Path, values: dict[str, object]) -> None:
    file.write_text(json.dumps(values, indent=2) + "\n")


if __name__ == "__main__":
    main(prog_name="python -m bench")
