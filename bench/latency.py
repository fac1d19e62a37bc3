"""`python -m bench latency`: the time from a submission to the result of one task.

In addition to the peers it measures a plain pipe to one child process: no system of processes can
be faster.
"""

import multiprocessing
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from statistics import quantiles
from threading import BrokenBarrierError
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click

from bench.comparison import Comparison, comparison_options
from bench.plot import draw_bars
from bench.results import Quantity, Unit
from bench.runners import PIPE, SYSTEMS, CallOnce, Runner, System
from bench.shapes import WrongAnswer, chain
from bench.turn import Figure, Options, timed

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess
    from multiprocessing.synchronize import Barrier

WARM_UP_CALLS = 20
START_LIMIT_SECONDS = 60
PERCENTILES = (50, 90, 99)


def percentile(samples: Sequence[float], which: int) -> float:
    """The value that `which` per cent of the samples do not exceed."""
    if len(samples) == 1:
        return samples[0]
    return quantiles(samples, n=100, method="inclusive")[which - 1]


def call_often(call: CallOnce, rounds: int) -> list[float]:
    """The seconds of each of `rounds` sequential calls."""
    samples: list[float] = []
    for number in range(rounds):
        start = perf_counter()
        answer = call(number)
        samples.append(perf_counter() - start)
        if answer != number + 1:
            raise WrongAnswer(f"call {number} gave {answer!r}")
    return samples


def client(
    name: str, address: str, rounds: int, begin: "Barrier", results: "Connection[Any, Any]"
) -> None:
    """One of several client programs of the same cluster."""
    with SYSTEMS[name].connected(address) as runner, runner.calling() as call:
        call_often(call, WARM_UP_CALLS)
        begin.wait(START_LIMIT_SECONDS)
        start = perf_counter()
        samples = call_often(call, rounds)
        results.send((perf_counter() - start, samples))


def _end(process: "SpawnProcess") -> None:
    """Kills a client that still runs after another one has failed."""
    process.kill()
    process.join()


def several(system: System, address: str, clients: int, rounds: int) -> tuple[float, list[float]]:
    """The seconds until all clients are done, and the seconds of each call."""
    context = multiprocessing.get_context("spawn")
    begin = context.Barrier(clients)
    with ExitStack() as stack:
        pipes = [context.Pipe(duplex=False) for _ in range(clients)]
        started = [
            context.Process(
                target=client, args=(system.name, address, rounds, begin, theirs), daemon=True
            )
            for _, theirs in pipes
        ]
        for process, (ours, theirs) in zip(started, pipes, strict=True):
            stack.callback(ours.close)
            process.start()
            stack.callback(_end, process)
            theirs.close()  # so that the pipe ends with the process
        seconds: list[float] = []
        samples: list[float] = []
        for ours, _ in pipes:
            needed, of_one = ours.recv()
            seconds.append(needed)
            samples += of_one
        for process in started:
            process.join()
    return max(seconds), samples


def quantities(rounds: int, clients: int, links: int) -> list[Quantity]:
    return [
        *(Quantity(f"one client, p{which}") for which in PERCENTILES),
        *(Quantity(f"{clients} clients, p{which}") for which in PERCENTILES),
        Quantity(f"{clients} clients together", clients * rounds, Unit.TASKS_PER_SECOND),
        Quantity("chain, a link", links),
        Quantity("chain fused, a link", links),
    ]


def measure(system: System, runner: Runner, options: Options) -> Iterator[Figure]:
    rounds, clients, links = options["rounds"], options["clients"], options["links"]
    with runner.calling() as call:
        call_often(call, WARM_UP_CALLS)
        samples = call_often(call, rounds)
    for which in PERCENTILES:
        yield f"one client, p{which}", percentile(samples, which), None
    for shape in (chain(links), chain(links, fused=True)):
        if system.can_run(shape):
            yield f"{shape.name}, a link", timed(runner, shape), None
    if system.shared:
        try:
            seconds, samples = several(system, runner.address, clients, rounds)
        except (EOFError, BrokenBarrierError) as error:
            raise click.ClickException("a client has ended before it was done") from error
        for which in PERCENTILES:
            yield f"{clients} clients, p{which}", percentile(samples, which), None
        yield f"{clients} clients together", seconds, None


@click.command(name="latency")
@click.option(
    "--rounds",
    type=click.IntRange(min=2),
    default=1000,
    show_default=True,
    help="The number of sequential tasks of each client.",
)
@click.option("--clients", type=click.IntRange(min=2), default=4, show_default=True)
@click.option(
    "--links", type=click.IntRange(min=2), default=1000, show_default=True, help="Of the chain."
)
@comparison_options("latency", repeat=3)
def command(comparison: Comparison, rounds: int, clients: int, links: int) -> None:
    """Measure the time to the result of one task."""
    results = comparison.measure(
        {"rounds": rounds, "clients": clients, "links": links},
        quantities(rounds, clients, links),
        limits=[PIPE],
    )
    comparison.deliver(
        "From a task's submission to its result", results, lambda file: draw_bars(results, file)
    )
