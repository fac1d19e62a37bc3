"""Compares the cost per task of a million tasks with that of a thousand at a time.

A million tasks take so long that the speed of the machine may change meanwhile, and again before
smaller sizes are measured. So both are measured together, on two clusters that alternate every
tenth of a second: the server of the million is stopped during the turns of the other. Each round
gives the ratio of the costs.
"""

import signal
from collections.abc import Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from contextlib import ExitStack, contextmanager
from statistics import median
from time import perf_counter

from attrs import frozen
from rich.console import Console

from bench.processes import HOST, Daemon, quiet_cpu_seconds, zero_cluster
from bench.server_alone import build, run
from bench.shapes import merge
from bench.sheet import Sheet
from bench.summary import middle_of
from rain.client import Client, Session

MILLION = 1_000_000
FEW = 1_000

SLICE_SECONDS = 0.1


@frozen
class Round:
    """Microseconds of CPU per task."""

    many: float
    few: float

    @property
    def ratio(self) -> float:
        return self.many / self.few


@frozen
class Place:
    client: Client
    server: Daemon


def million_beside_few(repeat: int, console: Console) -> list[Round]:
    """Measures `repeat` rounds."""
    with ExitStack() as stack:
        large, small = [_place(stack) for _ in range(2)]
        for place in (large, small):
            run(merge(FEW), place.client, 20)  # warm-up
        rounds: list[Round] = []
        for number in range(repeat):
            with console.status(f"a million tasks, round {number + 1}"):
                rounds.append(_round(large, small))
    return rounds


def _place(stack: ExitStack) -> Place:
    cluster = stack.enter_context(zero_cluster(1))
    return Place(stack.enter_context(Client(HOST, cluster.port)), cluster.server)


def _round(large: Place, small: Place) -> Round:
    servers = [large.server, small.server]
    before = quiet_cpu_seconds(servers)
    many, few = merge(MILLION), merge(FEW)
    sessions = 0
    with large.client.new_session("million") as session, ThreadPoolExecutor(1) as beside:
        build(many)
        finished = beside.submit(_finish, session)
        while _goes_on(finished):
            with _stopped(large.server):
                sessions += _slice(small.client)
    after = quiet_cpu_seconds(servers)
    used = [later - sooner for later, sooner in zip(after, before, strict=True)]
    tasks = sessions * few.task_count
    return Round(used[0] / many.task_count * 1e6, used[1] / tasks * 1e6)


def _finish(session: Session) -> None:
    session.submit()
    session.wait_all()


def _goes_on(finished: Future[None]) -> bool:
    """Runs one turn of the million; raises its errors; returns whether it goes on."""
    try:
        finished.result(SLICE_SECONDS)
    except NotYet:
        return True
    return False


def _slice(client: Client) -> int:
    """Runs one turn of a thousand tasks at a time; returns the number of sessions."""
    start, sessions = perf_counter(), 0
    while perf_counter() - start < SLICE_SECONDS:
        run(merge(FEW), client, 1)
        sessions += 1
    return sessions


@contextmanager
def _stopped(server: Daemon) -> Generator[None]:
    server.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        server.process.send_signal(signal.SIGCONT)


def million_sheet(rounds: Sequence[Round]) -> Sheet:
    return Sheet(
        title="A million tasks, and a thousand at a time, measured together",
        columns=("tasks", "CPU a task, median", "least", f"to {FEW + 1:,} tasks"),
        rows=(
            _row(FEW, [each.few for each in rounds], ""),
            _row(
                MILLION,
                [each.many for each in rounds],
                middle_of([each.ratio - 1 for each in rounds]),
            ),
        ),
        caption="One zero governor each; two servers take turns of a tenth of a second.",
        words=0,
    )


def _row(tasks: int, microseconds: Sequence[float], compared: str) -> tuple[str, ...]:
    middle, least = f"{median(microseconds):.1f} µs", f"{min(microseconds):.1f} µs"
    return f"{tasks + 1:,}", middle, least, compared


def million_values(rounds: Sequence[Round]) -> list[dict[str, float]]:
    """All values of the table, for `--json`: microseconds of CPU per task."""
    return [{"of_a_million": each.many, "of_a_thousand": each.few} for each in rounds]
