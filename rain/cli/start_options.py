"""The options that every way of `rain start` has, and what it says when the cluster is ready."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rain.cli.options import PATH, parsed, words

if TYPE_CHECKING:
    from rain.start.options import Order
    from rain.start.start import StartedCluster

_OPTIONS = (
    click.option(
        "--listen",
        metavar="ADDRESS",
        default="",
        help="Where the server listens: PORT, HOST or HOST:PORT; port 0 picks a free one."
        "  [default: 127.0.0.1:7210, or 0.0.0.0:7210 for other hosts]",
    ),
    click.option(
        "--advertise",
        metavar="HOST",
        default="",
        help="The name or address by which governors and programs on other machines reach this one,"
        " if it is not that of the host.",
    ),
    click.option(
        "--http-listen",
        metavar="ADDRESS",
        default="",
        help="Where it serves HTTP (its --http-listen).",
    ),
    click.option(
        "--http-host",
        "http_hosts",
        multiple=True,
        metavar="NAME",
        help="Another name by which browsers reach this machine (its --http-host).",
    ),
    click.option(
        "--governor-config",
        type=PATH,
        metavar="FILE",
        help="Configuration of every governor.",
    ),
    click.option(
        "--cache-limit",
        metavar="SIZE",
        help="The most bytes in a cache of results, as 50GiB (that of every governor).",
    ),
    click.option(
        "--secret-file",
        type=PATH,
        metavar="FILE",
        envvar="RAIN_SECRET_FILE",
        help="The secret of the cluster.  [env: RAIN_SECRET_FILE; default: a new one in the log"
        " folder if other machines reach the cluster, or else the key of this user]",
    ),
    click.option(
        "--tls",
        type=PATH,
        metavar="FOLDER",
        envvar="RAIN_TLS",
        help="Encrypt all links with the certificates in this folder of 'rain keys'; governors on"
        " other hosts are handed theirs.  [env: RAIN_TLS]",
    ),
    click.option(
        "--insecure",
        is_flag=True,
        help="Use no secret and no encryption, even if others reach the cluster.",
    ),
    click.option(
        "--logdir",
        type=PATH,
        help="Folder of all logs.  [default: rain-UID/logs/rain-HOST-PID in the temporary folder]",
    ),
    click.option(
        "--workdir",
        type=PATH,
        help="Folder that gets a work folder governor-I of each governor.",
    ),
    click.option(
        "--journal",
        type=PATH,
        metavar="FOLDER",
        help="Where the server writes all that it knows, so that the next start goes on from there;"
        " 'none' for nowhere.  [default: one for its port in the state folder of this user; none"
        " for port 0]",
    ),
    click.option(
        "--timeout",
        type=click.FloatRange(min=0.0, min_open=True),
        default=60.0,
        show_default=True,
        metavar="SECONDS",
        help="Seconds that the whole start may take.",
    ),
    click.option(
        "--runprefix",
        callback=parsed(words),
        default="",
        metavar="COMMAND",
        help="Put this before the command of each daemon.",
    ),
)


def start_options(run: Callable[..., Order]) -> Callable[..., Order]:
    """Adds the options of all starts, which the command gets as `options`.

    The command starts nothing: it says what is asked for. So a file and a program can ask for it in
    the same words.
    """

    @wraps(run)
    def command(
        listen: str,
        advertise: str,
        http_listen: str,
        http_hosts: tuple[str, ...],
        governor_config: Path | None,
        cache_limit: str | None,
        secret_file: Path | None,
        tls: Path | None,
        insecure: bool,
        logdir: Path | None,
        workdir: Path | None,
        journal: Path | None,
        timeout: float,
        runprefix: tuple[str, ...],
        **own: object,
    ) -> Order:
        from rain.start.options import StartOptions

        options = StartOptions(
            listen,
            advertise,
            http_listen,
            http_hosts,
            governor_config,
            cache_limit,
            secret_file,
            tls,
            insecure,
            logdir,
            workdir,
            journal,
            timeout,
            runprefix,
        )
        return run(options=options, **own)

    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def start_and_tell(order: Order) -> int:
    """Starts a cluster and prints what its user needs to know; returns the exit status."""
    from rain.start.interrupts import InterruptedStartError

    try:
        started = order.start()
    except InterruptedStartError as interrupted:
        click.echo(f"rain start: {interrupted}; all that was started has ended", err=True)
        return interrupted.status
    _tell(started)
    return 0


def _tell(started: StartedCluster) -> None:
    from rain.base.admission import http_url
    from rain.common.secret_file import read_secret

    cluster = started.cluster
    count = cluster.governors
    queued = f", submitted to {cluster.launcher}" if cluster.jobs else ""
    click.echo(f"Rain is ready: a server and {count} governor{'s' if count > 1 else ''}{queued}.")
    click.echo(f"  server  {cluster.address}")
    secret = read_secret(Path(cluster.secret_file)) if cluster.secret_file else None
    if cluster.http:
        url = f"https://{cluster.http}/" if cluster.tls else http_url(secret, cluster.http)
        click.echo(f"  http    {url}")
    if cluster.jobs:
        click.echo(f"  jobs    {' '.join(job.number for job in cluster.jobs)}")
    click.echo(f"  logs    {cluster.log_folder}")
    if secret is not None and not secret.of_user:
        click.echo(f"  secret  export RAIN_SECRET_FILE={shlex.quote(cluster.secret_file)}")
    if cluster.tls:
        click.echo(f"  tls     export RAIN_TLS={shlex.quote(cluster.tls)}")
    if cluster.jobs:
        click.echo("  look    rain status")
    if started.note:
        click.echo(f"  journal {started.note}")
    click.echo(f"  stop    rain stop {shlex.quote(str(cluster.log_folder))}")
    if started.unlisted:
        click.echo(f"'rain stop' does not list it, because {started.unlisted}", err=True)
