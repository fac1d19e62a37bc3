"""One turn of one system, in a separate process: `python -m bench.turn`.

The process starts the system's cluster, measures it, and writes a line of JSON for every figure at
once. Each turn has a fresh cluster, and no processes of other systems run meanwhile.
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
"""The options of a benchmark for its turns, sent as JSON."""

Figure: TypeAlias = tuple[str, float | None, object]
"""The name of a figure, its seconds (None if missing), and additional data."""

Measure: TypeAlias = Callable[[System, Runner, Options], Iterator[Figure]]


def timed(runner: Runner, shape: Shape) -> float:
    """The seconds of the shape, without the check of its answers."""
    seconds, results = runner.run(shape)
    check_answers(shape, results)
    return seconds


def warm_up(system: System, runner: Runner) -> None:
    """Starts the workers and imports what they need."""
    few = WARM_UP_TASKS
    for shape in (independent(few), merge(few), tree(6), chain(few), chain(few, fused=True)):
        if system.can_run(shape):
            timed(runner, shape)


def take_turn(system: System, measure: Measure, options: Options) -> Iterator[Figure]:
    """Yields all figures of one turn of the system."""
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
    os.set_inheritable(out, False)  # child processes must not keep it open
    with os.fdopen(out, "w") as lines:
        try:
            for name, seconds, detail in take_turn(SYSTEMS[system], measure, json.loads(options)):
                lines.write(json.dumps([name, seconds, detail]) + "\n")
                lines.flush()
        except WrongAnswer as error:
            raise click.ClickException(str(error)) from error


if __name__ == "__main__":
    main()
