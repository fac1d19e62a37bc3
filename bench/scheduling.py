"""`python -m bench scheduling`: the cost of decisions of a scheduler, without a server.

It measures two curves for each scheduler. The burst: many ready tasks arrive at once, and some or
many governors are idle; how long does the first plan take? The steady run: a graph of some or many
tasks is running, and tasks end one after the other; how long does each run of the scheduler take?
The first should grow with the tasks and hardly with the governors, the second not at all.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from time import process_time

import click
from attrs import Factory, define, frozen

from bench.options import Delivery, delivery_options, new_console, numbers_option, repeat_option
from bench.sheet import Sheet
from bench.summary import Summary, summarize
from rain.base.ids import ClientId, GovernorId, KindId, ObjectId, TaskId, pack
from rain.base.kinds import ObjectKind, TaskKind
from rain.base.resources import Resources
from rain.base.wire.submission import Submission
from rain.graph import Graph, Session, Task, claims, planning, progress
from rain.graph.growth import grow
from rain.scheduler import DEFAULT
from rain.scheduler.api import News, Plan, Scheduler
from rain.scheduler.estimates import Estimates
from rain.server.plugins import make_scheduler

CPUS = 4
STEADY_GOVERNORS = 100
STEPS = 200
FIRST = 100  # smaller numbers are used for kinds
SECONDS = 20.0


@define(eq=False)
class Bench:
    """A graph with governors, and its scheduler."""

    scheduler: Scheduler
    graph: Graph = Factory(Graph)
    estimates: Estimates = Factory(Estimates)
    now: float = 1000.0

    def plan(self, news: News) -> float:
        """Runs the scheduler once; returns its CPU seconds."""
        plan = Plan(self.graph, self.estimates, self.now)
        before = process_time()
        self.scheduler.schedule(self.graph, news, plan)
        return process_time() - before


def build(scheduler: str, governors: int) -> tuple[Bench, Session, News]:
    """Builds an empty graph with idle governors, and the news that they have joined."""
    bench = Bench(make_scheduler(scheduler))
    graph = bench.graph
    session = graph.add_session(graph.add_client(ClientId(1)), "", "")
    for number in range(1, governors + 1):
        graph.add_governor(GovernorId(number), f"host-{number}:1", Resources(CPUS), bench.now)
    return bench, session, News(joined=list(graph.governors.values()))


def submit(graph: Graph, session: Session, tasks: int, chain: int) -> list[Task]:
    """Submits chains of tasks of this length, one after the other by id."""
    submission = Submission(session.id)
    blob, work = KindId(pack(session.id, 1)), KindId(pack(session.id, 2))
    submission.object_kinds.append(ObjectKind(blob))
    submission.task_kinds.append(
        TaskKind(work, "py/", "work", outputs=(blob,), duration_hint=SECONDS)
    )
    columns = submission.tasks
    for number in range(tasks):
        columns.ids.append(TaskId(pack(session.id, FIRST + 2 * number)))
        columns.kinds.append(work)
        columns.configs.append(b"")
        inputs = [ObjectId(columns.outputs[-1])] if number % chain else []
        columns.input_counts.append(len(inputs))
        columns.inputs += inputs
        columns.outputs.append(ObjectId(pack(session.id, FIRST + 2 * number + 1)))
    return grow(graph, session, session.owner, submission)


def burst(scheduler: str, tasks: int, governors: int) -> float:
    """Seconds of the run that gets these ready tasks and idle governors."""
    bench, session, news = build(scheduler, governors)
    news.submitted += submit(bench.graph, session, tasks, chain=1)
    return bench.plan(news)


def steady(scheduler: str, tasks: int) -> float:
    """Mean seconds of a run after the end of one task of a large graph."""
    bench, session, news = build(scheduler, STEADY_GOVERNORS)
    news.submitted += submit(bench.graph, session, tasks, chain=10)
    bench.plan(news)
    return sum(bench.plan(news) for news in _ends(bench)) / STEPS


def _ends(bench: Bench) -> Iterator[News]:
    """Ends one task after the other; all planned tasks have started."""
    governors = list(bench.graph.governors.values())
    for step in range(STEPS):
        for governor in governors:
            while len(governor.queue):
                task = governor.queue.pop()
                planning.assign(task, bench.now)
                progress.start(task, bench.now)
        governor = governors[step % len(governors)]
        bench.now += SECONDS / len(governors)
        if not governor.assigned:
            yield News()
            continue
        task = next(iter(governor.assigned))
        progress.finish({task: SECONDS}, governor)
        claims.finished_reading([task])
        ready = progress.finish_objects(task.outputs, [8] * len(task.outputs), governor)
        yield News(finished=[task], ready=ready)


@frozen
class Cost:
    """One point of a curve."""

    scheduler: str
    curve: str
    tasks: int
    governors: int
    seconds: tuple[float, ...]

    @property
    def summary(self) -> Summary:
        return summarize(self.seconds)


def measure(
    schedulers: Sequence[str], tasks: Sequence[int], governors: Sequence[int], repeat: int
) -> Iterator[Cost]:
    """Measures both curves of every scheduler."""
    for name in schedulers:
        for count in governors:
            seconds = tuple(burst(name, max(tasks), count) for _ in range(repeat))
            yield Cost(name, "burst", max(tasks), count, seconds)
        for size in tasks:
            seconds = tuple(steady(name, size) for _ in range(repeat))
            yield Cost(name, "steady", size, STEADY_GOVERNORS, seconds)


def sheets(costs: Sequence[Cost]) -> list[Sheet]:
    """A table for each curve."""
    bursts = [cost for cost in costs if cost.curve == "burst"]
    steadies = [cost for cost in costs if cost.curve == "steady"]
    return [
        Sheet(
            title="The first plan: ready tasks on idle governors",
            columns=("scheduler", "tasks", "governors", "seconds", "per task"),
            rows=tuple(
                (
                    cost.scheduler,
                    f"{cost.tasks:,}",
                    f"{cost.governors:,}",
                    f"{cost.summary.median:.3f} ±{cost.summary.spread / 2:.0%}",
                    f"{1e6 * cost.summary.median / cost.tasks:.1f} µs",
                )
                for cost in bursts
            ),
            caption="CPU seconds: median and half of the range.",
        ),
        Sheet(
            title=f"A run after the end of one task, {STEADY_GOVERNORS} governors",
            columns=("scheduler", "tasks in the graph", "a run"),
            rows=tuple(
                (
                    cost.scheduler,
                    f"{cost.tasks:,}",
                    f"{1e6 * cost.summary.median:.0f} µs ±{cost.summary.spread / 2:.0%}",
                )
                for cost in steadies
            ),
            caption="CPU seconds: median and half of the range.",
        ),
    ]


def values_of(cost: Cost) -> dict[str, object]:
    """All values of a row, for `--json`."""
    return {
        "scheduler": cost.scheduler,
        "curve": cost.curve,
        "tasks": cost.tasks,
        "governors": cost.governors,
        "seconds": list(cost.seconds),
    }


@click.command(name="scheduling")
@click.option(
    "-s",
    "--scheduler",
    "schedulers",
    multiple=True,
    default=(DEFAULT, "rain"),
    show_default=True,
)
@numbers_option("--tasks", "tasks", default="1000,10000", explained="Sizes of the graph.")
@numbers_option("--governors", "governors", default="10,100,1000", explained="How many are idle.")
@repeat_option(3)
@delivery_options
def command(
    schedulers: tuple[str, ...],
    tasks: tuple[int, ...],
    governors: tuple[int, ...],
    repeat: int,
    json_file: Path | None,
    markdown: bool,
) -> None:
    """Measure the cost of schedulers by the sizes of graph and cluster."""
    console = new_console()
    for name in schedulers:
        make_scheduler(name)  # report a missing one before anything is measured
    costs = list(measure(tuple(dict.fromkeys(schedulers)), tasks, governors, repeat))
    Delivery(json_file, markdown).deliver(
        console,
        "scheduling",
        sheets(costs),
        {"costs": [values_of(cost) for cost in costs]},
        ["attrs", "sortedcontainers"],
    )
