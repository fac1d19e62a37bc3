"""`GET /metrics`: the numbers of a cluster in the text format of Prometheus.

Each number has few labels, whatever a cluster runs: there are no labels for sessions, tasks or
governors. Users have labels; all users beyond `MOST_USERS` share one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from http import HTTPStatus

from attrs import frozen

import rain
from rain.base.governors import GovernorRow
from rain.base.states import BEGUN, TaskRow
from rain.base.transfers import Transfers
from rain.base.usage import Used
from rain.base.users import OWNER_IN_TABLES
from rain.server.core.state import State
from rain.server.http.messages import Response

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

MOST_USERS = 100
"""Users with numbers of their own: those who have used most cpu-seconds."""

OTHERS = "(others)"
_NO_USER: Mapping[str, float] = {"": 0.0}

_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})
_AWAY = "away"


@frozen
class Metric:
    """One number, or one for each value of a label."""

    name: str
    kind: str  # gauge or counter
    help: str
    label: str = ""
    values: Mapping[str, float] = _NO_USER

    def lines(self) -> Iterable[str]:
        yield f"# HELP {self.name} {self.help}"
        yield f"# TYPE {self.name} {self.kind}"
        for value, number in self.values.items():
            label = f'{{{self.label}="{value.translate(_ESCAPES)}"}}' if self.label else ""
            yield f"{self.name}{label} {number!r}"


def metrics(state: State, now: float, only: str | None = None) -> Response:
    """The numbers between two turns; of one user only, or of all."""
    lines = (line for metric in gather(state, now, only) for line in metric.lines())
    return Response(HTTPStatus.OK, CONTENT_TYPE, "".join(f"{line}\n" for line in lines).encode())


def gather(state: State, now: float, only: str | None = None) -> list[Metric]:
    """All metrics; only what governors were told to run is walked over, and no other task."""
    return [
        *_of_cluster(state),
        *_of_governors(state),
        *_of_transfers(state.transfers),
        *_of_users(state, now, only),
    ]


def _of_cluster(state: State) -> list[Metric]:
    graph, status = state.graph, state.status
    return [
        Metric(
            "rain_build_info",
            "gauge",
            "The version of the server; always 1.",
            "version",
            {rain.__version__: 1},
        ),
        _gauge("rain_clients", "Connected clients.", len(graph.clients)),
        _counter("rain_scheduler_runs_total", "Runs of the scheduler.", status.runs),
        _counter(
            "rain_scheduler_seconds_total", "Seconds that the scheduler has taken.", status.seconds
        ),
        _counter("rain_scheduler_faults_total", "Failed runs of the scheduler.", status.faults),
    ]


def _of_governors(state: State) -> list[Metric]:
    governors = list(state.graph.governors.values())
    rows = {row.value: 0 for row in GovernorRow} | {_AWAY: 0}
    for governor in governors:
        rows[governor.row.value if governor.away is None else _AWAY] += 1
    held = {
        "memory": sum(governor.memory_bytes for governor in governors),
        "disk": sum(governor.disk_bytes for governor in governors),
    }
    return [
        Metric("rain_governors", "gauge", "Governors by state.", "state", rows),
        _gauge(
            "rain_cpus",
            "Cpus of all governors.",
            sum(max(one.offered.cpus, 0) for one in governors),
        ),
        _gauge(
            "rain_governor_queued_tasks",
            "Ready tasks that wait at the server for their governor.",
            sum(len(governor.queue) for governor in governors),
        ),
        _gauge(
            "rain_task_memory_bytes",
            "Memory of running tasks, as last reported by governors.",
            sum(governor.task_memory for governor in governors),
        ),
        Metric(
            "rain_held_bytes",
            "gauge",
            "Data objects on governors with all copies, by where they are, as last reported.",
            "tier",
            held,
        ),
    ]


def _of_transfers(sent: Transfers) -> list[Metric]:
    return [
        _counter(
            "rain_sent_data_bytes_total",
            "Bytes of data objects that governors have sent to other machines, from 256 KiB on.",
            sent.data,
        ),
        _counter(
            "rain_sent_compressed_bytes_total",
            "Bytes of data objects that were sent compressed.",
            sent.packed,
        ),
        _counter(
            "rain_sent_link_bytes_total",
            "Bytes that were sent on the links for data objects.",
            sent.on_links,
        ),
        _counter(
            "rain_compression_seconds_total",
            "CPU seconds that governors have spent on compression.",
            sent.packing / 1e6,
        ),
    ]


@frozen
class _Present:
    """The current numbers of each user."""

    sessions: Counter[str]
    unfinished: Counter[str]
    running: Counter[str]
    cpus: Counter[str]
    limited: Mapping[str, int]
    stored: Counter[str]


def _present(state: State) -> _Present:
    graph = state.graph
    sessions: Counter[str] = Counter()
    unfinished: Counter[str] = Counter()
    stored: Counter[str] = Counter()
    for session in graph.sessions.values():
        user = session.belongs_to
        sessions[user] += session.parent is None
        unfinished[user] += session.unfinished
        stored[user] += session.stored
    running: Counter[str] = Counter()
    cpus: Counter[str] = Counter()
    for governor in graph.governors.values():
        for task in governor.assigned:
            if task.row in BEGUN:
                running[task.session.belongs_to] += 1
            if task.row is TaskRow.RUNNING:
                cpus[task.session.belongs_to] += task.cpus
    quotas = state.metering.quotas
    limited = {user: sum(map(len, quota.waiting.values())) for user, quota in quotas.items()}
    return _Present(sessions, unfinished, running, cpus, limited, stored)


def _totals(state: State, now: float, present: _Present) -> dict[str, Used]:
    """The usage of each user until now, on all days."""
    totals: dict[str, Used] = {}
    for (user, _), used in state.usage.by_day(state.graph, now).items():
        total = totals.setdefault(user, Used())
        total.tasks += used.tasks
        total.cpu_seconds += used.cpu_seconds
        total.bytes += used.bytes
        total.byte_seconds += used.byte_seconds
    for user in present.sessions:
        totals.setdefault(user, Used())
    return totals


def _of_users(state: State, now: float, only: str | None) -> list[Metric]:
    present = _present(state)
    totals = _totals(state, now, present)
    if only is not None:
        totals = {only: totals.get(only, Used())}
    names = _names(totals)

    def of(kind: str, name: str, said: str, numbers: Mapping[str, float]) -> Metric:
        return Metric(name, kind, said, "user", _summed(names, numbers))

    return [
        of("gauge", "rain_sessions", "Open sessions.", present.sessions),
        of(
            "gauge",
            "rain_waiting_tasks",
            "Unfinished tasks that do not run.",
            {user: max(present.unfinished[user] - present.running[user], 0) for user in totals},
        ),
        of("gauge", "rain_running_tasks", "Running tasks.", present.running),
        of("gauge", "rain_used_cpus", "Cpus of running tasks.", present.cpus),
        of(
            "gauge",
            "rain_limited_tasks",
            "Tasks that wait for the limits of their user.",
            present.limited,
        ),
        of("gauge", "rain_stored_bytes", "Data objects, each counted once.", present.stored),
        of(
            "counter",
            "rain_finished_tasks_total",
            "Finished tasks.",
            {user: used.tasks for user, used in totals.items()},
        ),
        of(
            "counter",
            "rain_cpu_seconds_total",
            "Seconds of finished tasks times their cpus.",
            {user: used.cpu_seconds for user, used in totals.items()},
        ),
        of(
            "counter",
            "rain_made_bytes_total",
            "Bytes that finished tasks have made.",
            {user: used.bytes for user, used in totals.items()},
        ),
        of(
            "counter",
            "rain_stored_byte_seconds_total",
            "Bytes of data objects times the seconds for which they were there.",
            {user: used.byte_seconds for user, used in totals.items()},
        ),
    ]


def _names(totals: Mapping[str, Used]) -> dict[str, str]:
    """How each user is called here."""
    most_first = sorted(totals, key=lambda user: (-totals[user].cpu_seconds, user))
    return {
        user: (user or OWNER_IN_TABLES) if place < MOST_USERS else OTHERS
        for place, user in enumerate(most_first)
    }


def _summed(names: Mapping[str, str], numbers: Mapping[str, float]) -> dict[str, float]:
    sums: dict[str, float] = {}
    for user, name in names.items():
        sums[name] = sums.get(name, 0) + numbers.get(user, 0)
    return sums


def _gauge(name: str, said: str, number: float) -> Metric:
    return Metric(name, "gauge", said, values={"": number})


def _counter(name: str, said: str, number: float) -> Metric:
    return Metric(name, "counter", said, values={"": number})
