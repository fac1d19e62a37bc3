"""The command `rain server`."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click
from attrs import frozen

from rain.base.admission import MemberKind
from rain.base.errors import StartError
from rain.cli.options import (
    PATH,
    DaemonOptions,
    amount,
    count,
    daemon_options,
    file,
    listen,
    number,
    seconds,
    silence,
    size,
    switch,
    together,
)
from rain.scheduler import DEFAULT

if TYPE_CHECKING:
    from rain.server.history.retention import Keep
    from rain.server.settings import HttpSettings, ServerSettings
    from rain.tls.identity import Identity


@frozen
class Limits:
    """How long the server waits for its peers and its tasks, and how much it gives them."""

    overbooking: int
    governor_timeout: float
    client_timeout: float | None
    infeasible_grace: float
    crash_limit: int
    late_after: float
    late_factor: float


@frozen
class JournalOptions:
    """How a server comes back, or another one takes its place."""

    journal: Path | None
    standby: bool
    lease: str
    lease_seconds: float
    governor_grace: float
    client_grace: float

    def folder(self, port: int, *, records: bool) -> Path | None:
        """Where the journal is; None for no journal."""
        from rain.daemon.journal_place import chosen

        folder = chosen(self.journal, port, records=records)
        if self.standby and folder is None:
            raise StartError("--standby needs the journal of the server to stand by for: --journal")
        if self.lease and folder is None:
            raise StartError("--lease says where servers agree who uses the journal: add --journal")
        return folder


@frozen
class EventLogOptions:
    """What is kept of the events, and for how long."""

    event_log: bool
    event_log_objects: bool
    event_log_days: float | None
    event_log_limit: str

    def keep(self) -> Keep:
        """How much of it is kept."""
        from rain.server.history.retention import Keep

        days, limit = self.event_log_days, self.event_log_limit
        return Keep(
            None if days is None else days * 86400.0,
            None if limit == "none" else size("--event-log-limit", limit),
        )


@frozen
class HttpOptions:
    """Where HTTP is served, and as whom."""

    http_listen: str | None
    http_hosts: tuple[str, ...]
    no_http: bool
    dashboard_on_demand: bool

    def settings(
        self, listen_at: tuple[str, int], identity: Identity | None
    ) -> HttpSettings | None:
        """None if none is served."""
        from rain.server.settings import http_settings

        wanted = "none" if self.no_http else self.http_listen or ""
        return http_settings(listen_at, wanted, self.http_hosts, identity)


@click.command()
@listen("127.0.0.1:7210", "Where to listen: PORT, HOST or HOST:PORT; port 0 picks a free one.")
@amount("--scheduler", DEFAULT, "NAME", "Which scheduler plans: a name, or FILE.py:CLASS.")
@click.option(
    "--scheduler-option",
    "scheduler_options",
    multiple=True,
    metavar="KEY=VALUE",
    help="An option of the scheduler; may be repeated.",
)
@seconds(
    "--scheduler-limit",
    10.0,
    "How long one run of the scheduler may take. A longer one is interrupted, and the scheduler"
    " 'rain' plans for a while.",
    0.001,
)
@together(
    "limits",
    Limits,
    count("--overbooking", 2048, "The most tasks that a governor may hold at once."),
    seconds(
        "--governor-timeout", 20.0, "A governor that is silent for longer counts as lost.", 1.0
    ),
    silence(
        "--client-timeout",
        0.0,
        "A client that is silent for longer counts as lost; 0 for never. A stopped client is silent"
        " too.",
    ),
    seconds(
        "--infeasible-grace",
        30.0,
        "How long a task waits for a governor that can run it, if there is none.",
    ),
    count(
        "--crash-limit",
        3,
        "How many times an executor or a governor may die while it runs a task before the task"
        " fails, unless the task has its own crash_tries.",
    ),
    seconds(
        "--late-after",
        0.5,
        "An idempotent task counts as late after this time at the earliest, and is then run once"
        " more elsewhere.",
    ),
    number(
        "--late-factor",
        2.0,
        "To count as late, it must also have run this many times as long as three quarters of the"
        " tasks of its name took.",
    ),
)
@click.option(
    "--users",
    type=PATH,
    metavar="FILE",
    help="The file users.toml, which says what the users of the cluster may do. The server reads it"
    " again when it changes.",
)
@click.option("--workdir", type=PATH, help="A new folder for the large constants of clients.")
@together(
    "kept",
    JournalOptions,
    click.option(
        "--journal",
        type=PATH,
        metavar="FOLDER",
        help="Keep the state of the server in this folder, and go on from it after a restart;"
        " 'none' for no journal.  [default: a folder for this port in your state folder; none for"
        " port 0 or with --record]",
    ),
    click.option(
        "--standby",
        is_flag=True,
        help="Wait while another server uses the journal, and take over when it is gone.",
    ),
    click.option(
        "--lease",
        default="",
        metavar="URL",
        help="Where servers agree on which of them uses the journal: etcd://HOST:PORT/NAME or"
        " postgresql://HOST/DATABASE#NAME.  [default: the folder of the journal]",
    ),
    seconds(
        "--lease-seconds",
        5.0,
        "With a journal: a standby takes over when the server has shown no sign of life for this"
        " long.",
        1.0,
    ),
    seconds(
        "--governor-grace",
        3.0,
        "With a journal: how long a governor may take to reconnect after its connection breaks.",
        0.0,
    ),
    seconds(
        "--client-grace",
        10.0,
        "How long clients may take to reconnect after the server restarts.",
        0.0,
    ),
)
@file("--record", "Record every event in this file, so that the run can be replayed.")
@together(
    "log",
    EventLogOptions,
    switch("event-log", "Keep every event in LOGDIR/events.db."),
    click.option(
        "--event-log-objects",
        is_flag=True,
        help="Log an event for every finished data object, too.",
    ),
    click.option(
        "--event-log-days",
        type=click.FloatRange(min=0.0, min_open=True),
        metavar="DAYS",
        help="Delete sessions from the log this long after their end.  [default: never]",
    ),
    amount(
        "--event-log-limit",
        "10G",
        "SIZE",
        "How large the log may get before its oldest sessions are deleted: 500M, 10G, or 'none'.",
    ),
)
@together(
    "http",
    HttpOptions,
    click.option(
        "--http-listen",
        metavar="ADDRESS",
        help="Serve the dashboard and all other HTTP only at this address; port 0 picks a free"
        " port, 'none' serves no HTTP.  [default: the address of --listen]",
    ),
    click.option(
        "--http-host",
        "http_hosts",
        multiple=True,
        metavar="NAME",
        help="Another name by which browsers reach this machine; may be repeated.",
    ),
    click.option("--no-http", is_flag=True, help="Serve no HTTP, as with --http-listen none."),
    click.option(
        "--dashboard-on-demand",
        is_flag=True,
        help="Start the event log and HTTP only when a client asks for the dashboard.",
    ),
)
@click.option(
    "--check",
    is_flag=True,
    help="Only check the options, and that the scheduler and the files which they name can be read;"
    " then end.",
)
@daemon_options
@click.pass_obj
def server(
    run: Callable[[ServerSettings], int] | None,
    daemon: DaemonOptions,
    listen_at: str,
    scheduler: str,
    scheduler_options: tuple[str, ...],
    scheduler_limit: float,
    limits: Limits,
    users: Path | None,
    workdir: Path | None,
    kept: JournalOptions,
    record: Path | None,
    log: EventLogOptions,
    http: HttpOptions,
    check: bool,
) -> int:
    """Run the server.

    By default it listens on loopback only. To open it to other machines, give it an address and
    certificates (--tls) or a secret, because every client can run programs here.
    """
    from rain.daemon import lean

    lean.begin()
    from rain.base.address import DEFAULT_PORT, LOOPBACK
    from rain.daemon.addresses import parse_address
    from rain.daemon.exposure import check_exposure, or_user_key
    from rain.graph.lateness import Rule
    from rain.server.core.reactor_settings import ReactorSettings
    from rain.server.main import check_server, run_server
    from rain.server.plugins import with_options
    from rain.server.settings import ServerSettings

    host, port = parse_address(listen_at, LOOPBACK, DEFAULT_PORT)
    journal = kept.folder(port, records=record is not None)
    secret, identity = daemon.secret(), daemon.identity(MemberKind.SERVER)
    is_open = daemon.insecure or identity is not None
    check_exposure(host, secret, insecure=is_open, risk="run programs here")
    site = http.settings((host, port), identity)
    if site is not None and site.own_port is not None:
        check_exposure(site.own_port[0], secret, insecure=is_open, risk="read the event log")
    secret = or_user_key(secret, host, insecure=is_open)
    settings = ServerSettings(
        host=host,
        port=port,
        secret=secret,
        identity=identity,
        scheduler=with_options(scheduler, scheduler_options),
        log_folder=daemon.log_folder,
        log_level=daemon.log_level,
        readiness=daemon.readiness,
        parent_fd=daemon.parent_fd,
        work_folder=workdir,
        record=record,
        journal=journal,
        standby=kept.standby,
        lease=kept.lease,
        lease_seconds=kept.lease_seconds,
        event_log=log.event_log,
        event_log_objects=log.event_log_objects,
        event_log_keep=log.keep(),
        client_silence=limits.client_timeout,
        http=site,
        on_demand=http.dashboard_on_demand,
        users=users,
        reactor=ReactorSettings(
            overbooking=limits.overbooking,
            governor_silence=limits.governor_timeout,
            infeasible_grace=limits.infeasible_grace,
            scheduler_limit=scheduler_limit,
            crash_limit=limits.crash_limit,
            lateness=Rule(least=limits.late_after, factor=limits.late_factor),
            returns=journal is not None,
            governor_grace=kept.governor_grace,
            client_grace=kept.client_grace,
            test_mode=os.environ.get("RAIN_TEST_MODE") == "1",
            debug=os.environ.get("RAIN_DEBUG_MODE") == "1",
        ),
    )
    return (run or (check_server if check else run_server))(settings)
