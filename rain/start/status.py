"""The status of a cluster: asks the server like a client, and its HTTP side for sessions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any, cast

from attrs import Factory, asdict, evolve, frozen

from rain.base.address import split_address
from rain.base.admission import http_url
from rain.base.errors import StartError
from rain.base.resources import CPUS
from rain.base.wire.answers import DataLink, DurableReport, GovernorReport
from rain.base.wire.requests import DurableSessions, ServerInfo, UsageOf
from rain.base.wire.usage import UsageReport
from rain.start.clusters import ClusterDescription
from rain.start.jobs import JobLine, look_at_jobs
from rain.start.processes import is_running
from rain.start.reaching import asking, http_of
from rain.start.scaling_files import read_state
from rain.start.standbys import look_at_servers
from rain.tls.identity import Identity
from rain.tls.keys import NO_KEYS, Keys

_HTTP_SECONDS = 10.0
_LONGEST_LINE = 300


@frozen
class GovernorLine:
    """One governor: its resources, its tasks and its objects."""

    address: str
    cpus: int
    other_resources: dict[str, int]
    tasks: int
    objects: int
    state: str = "works"  # or "rests" or "drains"
    rests: float = 0.0  # seconds for which it gets no tasks
    rests_why: str = ""
    holds_back: str = ""  # why tasks that it was told wait there
    away: float = 0.0  # seconds for which it has had no connection, though it may come back
    away_why: str = ""
    memory: dict[str, int] = Factory(dict)  # bytes by what they are for
    running: dict[str, int] = Factory(dict)  # bytes that running tasks have, by their names
    time_left: float | None = None  # seconds until it must be gone, if it must
    out_of_reach: dict[str, str] = Factory(dict)  # governors it cannot connect to, and why
    links: tuple[DataLink, ...] = ()  # over which it has sent large files to other machines


@frozen
class SessionLine:
    """One open session."""

    id: int
    name: str
    tasks: int
    unfinished: int
    objects: int | None  # None if only its owner is told
    failure: str
    held_up: str = ""  # why it waits for a governor that was not started
    durable: bool = False
    clients: int = 1  # that have it open
    user: str = ""  # whose it is; "" is the owner of the cluster


@frozen
class ClusterStatus:
    """A server with its governors and sessions; `sessions` is None if they are unknown."""

    address: str
    governors: tuple[GovernorLine, ...]
    sessions: tuple[SessionLine, ...] | None = None
    sessions_unknown: str = ""  # why
    dashboard: str = ""  # its URL for a browser
    jobs: tuple[JobLine, ...] = ()  # governors that a batch system starts
    jobs_unknown: str = ""  # why
    scaling: dict[str, str] = Factory(dict)  # what the scaler wants of each kind, and why
    scaler_ended: bool = False  # nobody starts governors any more
    ended: dict[str, str] = Factory(dict)  # the last jobs of the scaler that have ended, and why
    servers: dict[str, str] = Factory(dict)  # of a cluster with a standby: what each of them does

    def as_json(self) -> str:
        shown = asdict(self)
        del shown["dashboard"]  # contains a password, which programs should not store
        return json.dumps(shown, indent=2)


def ask(address: str, http: str, keys: Keys = NO_KEYS) -> ClusterStatus:
    """Asks a server, and its HTTP side, which is where the server says unless that is given."""
    reports, durable, usage, told = _server_info(address, keys)
    http = http or told
    governors = read_governors(reports)
    if usage is not None:
        return ClusterStatus(address, governors, sessions_of_user(usage))
    if not http:
        return ClusterStatus(
            address, governors, None, "the server serves no HTTP (--http-listen none)"
        )
    try:
        status = ask_http(http, keys)
        sessions = once_each(read_sessions(status), durable)
        governors = with_troubles(governors, status)
    except StartError as error:
        return ClusterStatus(address, governors, None, str(error))
    dashboard = http_url(keys.secret, http) if keys.identity is None else f"https://{http}/"
    return ClusterStatus(address, governors, sessions, dashboard=dashboard)


def with_cluster(status: ClusterStatus, cluster: ClusterDescription | None) -> ClusterStatus:
    """Adds its standby, and the governors of the cluster that are jobs of a batch system."""
    if cluster is None:
        return status
    if cluster.standby is not None:
        status = evolve(status, servers=look_at_servers(cluster))
    try:
        status = _with_scaling(status, cluster)
        return evolve(status, jobs=tuple(look_at_jobs(cluster)))
    except StartError as error:
        return evolve(status, jobs_unknown=str(error))


def _with_scaling(status: ClusterStatus, cluster: ClusterDescription) -> ClusterStatus:
    state = read_state(cluster.log_folder)
    if cluster.scaler is None or state is None:
        return status
    gone = not is_running(cluster.scaler.mark)
    return evolve(status, scaling=state.says, scaler_ended=gone, ended=state.ended)


def read_governors(reports: Sequence[GovernorReport]) -> tuple[GovernorLine, ...]:
    """The lines of the governors, sorted by address."""
    return tuple(
        _governor_line(report) for report in sorted(reports, key=lambda report: report.address)
    )


def _governor_line(report: GovernorReport) -> GovernorLine:
    resources = dict(report.resources)
    cpus = resources.pop(CPUS, 0)
    return GovernorLine(
        report.address,
        cpus,
        resources,
        len(report.tasks),
        len(report.objects),
        memory=dict(report.memory),
        running=dict(report.running),
        out_of_reach=dict(report.out_of_reach),
        links=report.links,
    )


def with_troubles(
    governors: Sequence[GovernorLine], status: Mapping[str, Any]
) -> tuple[GovernorLine, ...]:
    """Adds what /status says: which governors rest or drain, and those that are away."""
    try:
        states = {
            str(told["governor"]): (
                str(told["state"]),
                float(told["rests"]),
                str(told["rests_why"]),
                told.get("time_left"),
                str(told.get("holds_back", "")),
            )
            for told in status["governors"]
        }
        away = [_away_line(told) for told in status["governors"] if told["away_why"]]
    except (KeyError, TypeError, ValueError) as error:
        raise StartError(f"the server's /status cannot be parsed: {error!r}") from error
    lines: list[GovernorLine] = []
    for line in governors:
        state, seconds, why, left, holds = states.get(line.address, ("works", 0.0, "", None, ""))
        lines.append(
            evolve(
                line, state=state, rests=seconds, rests_why=why, time_left=left, holds_back=holds
            )
        )
    return tuple(sorted([*lines, *away], key=lambda line: line.address))


def _away_line(told: Mapping[str, Any]) -> GovernorLine:
    resources = dict(told["resources"])
    return GovernorLine(
        str(told["governor"]),
        resources.pop(CPUS, 0),
        resources,
        int(told["assigned"]),
        int(told["objects"]),
        away=float(told["away"]),
        away_why=str(told["away_why"]),
    )


def read_sessions(status: Mapping[str, Any]) -> tuple[SessionLine, ...]:
    """The lines of the sessions, from /status."""
    try:
        return tuple(
            SessionLine(
                int(session["session"]),
                str(session["name"]),
                int(session["tasks"]),
                int(session["unfinished"]),
                int(session["objects"]),
                str(session["failure"]),
                str(session.get("held_up", "")),
                bool(session.get("durable", False)),
                user=str(session.get("user", "")),
            )
            for session in status["sessions"]
        )
    except (KeyError, TypeError, ValueError) as error:
        raise StartError(f"the server's /status cannot be parsed: {error!r}") from error


def sessions_of_user(usage: UsageReport) -> tuple[SessionLine, ...]:
    """The sessions that a user sees, without the HTTP side, which asks for the owner's key."""
    return tuple(
        SessionLine(
            one.session,
            one.name,
            one.tasks + one.waiting + one.running,
            one.waiting + one.running,
            None,
            "",
            one.why,
            user=one.user,
        )
        for one in usage.sessions
    )


def once_each(
    lines: Sequence[SessionLine], reports: Sequence[DurableReport]
) -> tuple[SessionLine, ...]:
    """One line for each durable session, of which the server has one for each client that opens it.

    Their tasks stand for each other, so the numbers are those of what is kept under the name.
    """
    by_name = {report.name: report for report in reports}
    merged: dict[str | int, SessionLine] = {}
    for line in lines:
        report = by_name.get(line.name) if line.durable else None
        if report is None:
            merged[line.id] = line
            continue
        first = merged.get(report.name)
        merged[report.name] = evolve(
            first or line,
            tasks=report.tasks,
            unfinished=report.tasks - report.finished - report.failed,
            objects=(line.objects or 0) + ((first.objects or 0) if first else 0),
            held_up=(first.held_up if first else "") or line.held_up,
            clients=report.clients,
        )
    return tuple(merged.values())


def _connection(host: str, port: int, identity: Identity | None) -> HTTPConnection:
    if identity is None:
        return HTTPConnection(host, port, timeout=_HTTP_SECONDS)
    return HTTPSConnection(host, port, timeout=_HTTP_SECONDS, context=identity.for_asking_http)


def _server_info(
    address: str, keys: Keys
) -> tuple[Sequence[GovernorReport], Sequence[DurableReport], UsageReport | None, str]:
    """Governors, durable sessions, usage (for users only) and the HTTP address of a server."""
    with asking(address, keys) as connection:
        governors, named = connection.ask(ServerInfo()), connection.ask(DurableSessions())
        usage = connection.ask(UsageOf()) if keys.user else None
        return governors, named.sessions, usage, http_of(connection, address)


def _words(answer: HTTPResponse, body: bytes) -> str:
    """The text of an answer, if it is a one-line message of a Rain server."""
    if not (answer.getheader("content-type") or "").startswith("text/plain"):
        return ""
    line = body.decode("utf-8", "replace").strip().partition("\n")[0]
    return f": {line[:_LONGEST_LINE]}" if line else ""


def ask_http(
    address: str,
    keys: Keys = NO_KEYS,
    path: str = "/status",
) -> Mapping[str, Any]:
    """Returns what the HTTP side of a server answers at a path."""
    host, port = split_address(address)
    connection = _connection(host, port, keys.identity)
    url = f"{'http' if keys.identity is None else 'https'}://{address}{path}"
    headers: dict[str, str] = {}
    if keys.identity is None and keys.secret is not None:  # else our certificate is enough
        headers["authorization"] = f"Bearer {keys.secret.http_token(port)}"
    try:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise StartError(f"{url} answers {answer.status} {answer.reason}{_words(answer, body)}")
        content: object = json.loads(body)
    except OSError as error:
        raise StartError(f"{url} cannot be reached: {error.strerror or error}") from error
    except (HTTPException, ValueError) as error:
        raise StartError(f"{url} cannot be parsed: {error!r}") from error
    finally:
        connection.close()
    if not isinstance(content, dict):
        raise StartError(f"{url} cannot be parsed: it is not an object")
    return cast("dict[str, Any]", content)
