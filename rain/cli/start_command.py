"""The command `rain start`."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import click

from rain.base.errors import StartError
from rain.cli.options import PATH

WHOLE_PATH = click.Path(path_type=Path, resolve_path=True)
"""For daemons, which may work in another folder."""


@click.command()
@click.option("--simple", is_flag=True, help="One governor here, with all cpus.")
@click.option(
    "--local-governors",
    metavar="[N,N,...]",
    help="Governors here, with these numbers of cpus: for instance [4,4,2].",
)
@click.option(
    "--governor-host-file",
    type=PATH,
    metavar="FILE",
    help="A governor on each host of a file: one host per line, # starts a comment.",
)
@click.option(
    "--autoconf",
    type=click.Choice(["pbs"]),
    help="Take the hosts from a batch system: pbs reads the file that $PBS_NODEFILE names.",
)
@click.option(
    "-S", "reserve_cpu", is_flag=True, help="Leave one cpu free on the machine of the server."
)
@click.option(
    "--listen",
    metavar="ADDRESS",
    default="",
    help="Where the server listens: PORT, HOST or HOST:PORT; port 0 picks a free one.  [default:"
    " 127.0.0.1:7210, or 0.0.0.0:7210 for other hosts]",
)
@click.option(
    "--http-listen", metavar="ADDRESS", default="", help="Where it serves HTTP (its --http-listen)."
)
@click.option(
    "--http-host",
    "http_hosts",
    multiple=True,
    metavar="NAME",
    help="Another name by which browsers reach this machine (its --http-host).",
)
@click.option(
    "--governor-config",
    type=WHOLE_PATH,
    metavar="FILE",
    help="Configuration of every governor.",
)
@click.option(
    "--cache-limit",
    metavar="SIZE",
    help="The most bytes in a cache of results, as 50GiB (that of every governor).",
)
@click.option(
    "--secret-file",
    type=WHOLE_PATH,
    metavar="FILE",
    envvar="RAIN_SECRET_FILE",
    help="The secret of the cluster.  [env: RAIN_SECRET_FILE; default: a new one in the log folder"
    " if other machines reach the cluster, or else the key of this user]",
)
@click.option(
    "--tls",
    type=PATH,
    metavar="FOLDER",
    envvar="RAIN_TLS",
    help="Encrypt all links with the certificates in this folder of 'rain keys'; governors on other"
    " hosts are handed theirs.  [env: RAIN_TLS]",
)
@click.option(
    "--insecure",
    is_flag=True,
    help="Use no secret and no encryption, even if others reach the cluster.",
)
@click.option(
    "--runprefix", default="", metavar="COMMAND", help="Put this before the command of each daemon."
)
@click.option(
    "--logdir",
    type=PATH,
    help="Folder of all logs.  [default: rain-UID/logs/rain-HOST-PID in the temporary folder]",
)
@click.option(
    "--workdir",
    type=WHOLE_PATH,
    help="Folder that gets a work folder governor-I of each governor.",
)
@click.option(
    "--journal",
    type=WHOLE_PATH,
    metavar="FOLDER",
    help="Where the server writes all that it knows; the next start goes on from there.",
)
@click.option(
    "--remote-init",
    default="",
    metavar="COMMANDS",
    help="Shell commands to run on each host before its governor.",
)
@click.option(
    "--ssh",
    default="ssh -o StrictHostKeyChecking=no",
    show_default=True,
    metavar="COMMAND",
    help="How to reach a host.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0.0, min_open=True),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Seconds that the whole start may take.",
)
def start(
    simple: bool,
    local_governors: str | None,
    governor_host_file: Path | None,
    autoconf: str | None,
    reserve_cpu: bool,
    listen: str,
    http_listen: str,
    http_hosts: tuple[str, ...],
    governor_config: Path | None,
    cache_limit: str | None,
    secret_file: Path | None,
    tls: Path | None,
    insecure: bool,
    runprefix: str,
    logdir: Path | None,
    workdir: Path | None,
    journal: Path | None,
    remote_init: str,
    ssh: str,
    timeout: float,
) -> int:
    """Start a server and governors, here or on other hosts, and let them run.

    If this command ends with status 0, all of them are ready; otherwise none is left running. End
    them with 'rain stop'.
    """
    import rain
    from rain.base.admission import http_url
    from rain.base.sizes import parse_size
    from rain.common.secret_file import read_secret
    from rain.daemon.addresses import parse_address
    from rain.daemon.folders import default_log_folder
    from rain.start.asked import asked_governors
    from rain.start.clusters import has_ended, user_index
    from rain.start.interrupts import InterruptedStartError
    from rain.start.plan import DEFAULT_PORT, NONE, Settings, run_rain
    from rain.start.remote import RemoteAccess
    from rain.start.start import start_cluster

    if governor_config is not None and not governor_config.is_file():
        raise StartError(f"--governor-config {governor_config} is not a file")
    if cache_limit is not None:
        try:
            parse_size(cache_limit)
        except ValueError as error:
            raise StartError(f"--cache-limit: {error}") from None
    here = Path.cwd()
    host, port = parse_address(listen, "", DEFAULT_PORT)
    command = run_rain(sys.executable, Path(rain.__file__).resolve().parent.parent, here)
    settings = Settings(
        governors=asked_governors(
            simple=simple,
            local_governors=local_governors,
            host_file=governor_host_file,
            autoconf=autoconf,
            server_host=host,
            environment=os.environ,
        ),
        rain=command,
        log_folder=(logdir or default_log_folder("rain", has_ended)).absolute(),
        listen_host=host,
        listen_port=port,
        http_listen=http_listen,
        http_hosts=http_hosts,
        governor_config=governor_config,
        cache_limit=cache_limit,
        journal=journal,
        work_folder=workdir,
        run_prefix=_words(runprefix, "--runprefix"),
        reserve_cpu=reserve_cpu,
        secret_file=secret_file,
        tls=tls if tls is None or tls == NONE else tls.absolute(),
        insecure=insecure,
    )
    way = _words(ssh, "--ssh")
    if not way:
        raise StartError("--ssh is empty: name a command")
    if "/" in way[0]:
        way = (str(Path(way[0]).absolute()), *way[1:])  # 'rain stop' may run in another folder
    access = RemoteAccess(way, here, remote_init, command)
    try:
        started = start_cluster(settings, access, timeout, user_index())
    except InterruptedStartError as interrupted:
        click.echo(f"rain start: {interrupted}; all that was started has ended", err=True)
        return interrupted.status
    cluster = started.cluster
    count = len(cluster.members) - 1
    click.echo(f"Rain is ready: a server and {count} governor{'s' if count > 1 else ''}.")
    click.echo(f"  server  {cluster.address}")
    secret = read_secret(Path(cluster.secret_file)) if cluster.secret_file else None
    if cluster.http:
        url = f"https://{cluster.http}/" if cluster.tls else http_url(secret, cluster.http)
        click.echo(f"  http    {url}")
    click.echo(f"  logs    {cluster.log_folder}")
    if secret is not None and not secret.of_user:
        click.echo(f"  secret  export RAIN_SECRET_FILE={shlex.quote(cluster.secret_file)}")
    if cluster.tls:
        click.echo(f"  tls     export RAIN_TLS={shlex.quote(cluster.tls)}")
    click.echo(f"  stop    rain stop {shlex.quote(str(cluster.log_folder))}")
    if started.unlisted:
        click.echo(f"'rain stop' does not list it, because {started.unlisted}", err=True)
    return 0


def _words(text: str, option: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise StartError(f"{option} {text!r} is not a command: {error}") from error
