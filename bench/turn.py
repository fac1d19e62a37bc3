"""One turn of one system, in a process of its own: `python -m bench.turn`.

The process starts the system's cluster, measures on it, and writes a line of JSON for every figure
as soon as it has it. Each turn has a fresh cluster, and while it runs no other system's processes
are there to take its CPUs.
"""

import json
import os
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, TypeAlias

import click

from bench.runners import SYSTEMS, Runner, System
from bench.shapes import Shape, WrongAnswer, chain, check_answers, independent, merge, tree

WARM_UP_TASKS = 200

Options: TypeAlias = dict[str, Any]
"""What a benchmark tells its turns; it travels as JSON."""

Figure: TypeAlias = tuple[str, float | None, object]
"""What was measured, the seconds (None: there are none), and whatever else is worth keeping."""

Measure: TypeAlias = Callable[[System, Runner, Options], Iterator[Figure]]


def timed(runner: Runner, shape: Shape) -> float:
    """The seconds that the shape takes; the answers are checked outside of them."""
    seconds, results = runner.run(shape)
    check_answers(shape, results)
    return seconds


def warm_up(system: System, runner: Runner) -> None:
    """Starts the workers and loads what they need."""
    few = WARM_UP_TASKS
    for shape in (independent(few), merge(few), tree(6), chain(few), chain(few, fused=True)):
        if system.can_run(shape):
            timed(runner, shape)


def take_turn(system: System, measure: Measure, options: Options) -> Iterator[Figure]:
    """Everything that the system shows in one turn."""
    with system.cluster(options["cpus"]) as runner:
        warm_up(system, runner)
        yield from measure(system, runner, options)


@click.command()
@click.argument("system", type=click.Choice(list(SYSTEMS)))
@click.argument("module")
@click.option("--options", required=True, help="JSON, for the module's function `measure`.")
@click.option("--out", type=int, required=True, help="The descriptor to write to.")
def main(system: str, module: str, options: str, out: int) -> None:
    measure: Measure = import_module(module).measure
    os.set_inheritable(out, False)  # whoever is started from here shall not hold it open
    with os.fdopen(out, "w") as lines:
        try:
            for name, seconds, detail in take_turn(SYSTEMS[system], measure, json.loads(options)):
                lines.write(json.dumps([name, seconds, detail]) + "\n")
                lines.flush()
        except WrongAnswer as error:
            raise click.ClickException(str(error)) from error


if __name__ == "__main__":
    main()
