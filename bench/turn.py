"""One turn of one system, in a process of its own: `python -m bench.turn`.

The process starts the system's cluster, runs every shape on it, writes the
seconds as JSON and ends. Each turn has a fresh cluster, and while it runs no
other system's processes are there to take its CPUs.
"""

import json
from pathlib import Path
from statistics import median

import click

from bench.runners import SYSTEMS, Runner
from bench.shapes import Shape, WrongAnswer, check_answers, overhead_shapes

WARM_UP_TASKS = 200


def measure(runner: Runner, shape: Shape) -> float:
    """The seconds that the shape takes; the answers are checked outside of them."""
    samples: list[float] = []
    for _ in range(shape.rounds):
        seconds, results = runner.run(shape)
        check_answers(shape, results)
        samples.append(seconds)
    return median(samples)


def take_turn(runner: Runner, tasks: int) -> dict[str, float]:
    """The seconds of every shape, by name."""
    for shape in overhead_shapes(min(tasks, WARM_UP_TASKS)):
        measure(runner, shape)  # starts the workers and loads what they need
    return {shape.name: measure(runner, shape) for shape in overhead_shapes(tasks)}


@click.command()
@click.argument("system", type=click.Choice(list(SYSTEMS)))
@click.option("--tasks", type=int, required=True)
@click.option("--cpus", type=int, required=True)
@click.option("--out", type=click.Path(path_type=Path), required=True)
def main(system: str, tasks: int, cpus: int, out: Path) -> None:
    with SYSTEMS[system].cluster(cpus) as runner:
        try:
            seconds = take_turn(runner, tasks)
        except WrongAnswer as error:
            raise click.ClickException(str(error)) from error
    out.write_text(json.dumps(seconds))


if __name__ == "__main__":
    main()
