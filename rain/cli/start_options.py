"""The options that all forms of `rain start` have in common, and the text when the cluster is
ready.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rain.base.resources import read_named
from rain.cli.handed_on import (
    HANDED_ON,
    SERVER_OPTIONS,
    epilog_of,
    words_for_governors,
    words_for_server,
)
from rain.cli.options import PATH, parsed, words
from rain.launchers.surroundings import read_scratch, read_variable

if TYPE_CHECKING:
    from rain.start.options import StartRequest
    from rain.start.start import StartedCluster


class OfServer(click.Option):
    """An option of the server: `rain add` does not have it."""


_OF_SERVER = (
    click.option(
        "--listen",
        metavar="ADDRESS",
        default="",
        help="Where the server listens: PORT, HOST or HOST:PORT; port 0 picks a free one."
        "  [default: 127.0.0.1:7210, or 0.0.0.0:7210 for other hosts]",
        cls=OfServer,
    ),
    click.option(
        "--http-listen",
        metavar="ADDRESS",
        default="",
        help="Serve the dashboard and all other HTTP only at this address; 'none' serves no HTTP."
        "  [default: the address of --listen]",
        cls=OfServer,
    ),
    click.option(
        "--http-host",
        "http_hosts",
        multiple=True,
        metavar="NAME",
        help="Another name by which browsers reach this machine; may be repeated.",
        cls=OfServer,
    ),
    click.option(
        "--secret-file",
        type=PATH,
        metavar="FILE",
        envvar="RAIN_SECRET_FILE",
        help="The secret of the cluster.  [env: RAIN_SECRET_FILE; default: a new one in the log"
        " folder if other machines reach the cluster, or else the key of this user]",
        cls=OfServer,
    ),
    click.option(
        "--tls",
        type=PATH,
        metavar="FOLDER",
        envvar="RAIN_TLS",
        help="Encrypt all links with the certificates in this folder of 'rain keys'; governors on"
        " other hosts are handed theirs.  [env: RAIN_TLS]",
        cls=OfServer,
    ),
    click.option(
        "--insecure",
        is_flag=True,
        help="Use no secret and no encryption, even if other machines can reach the cluster.",
        cls=OfServer,
    ),
    click.option(
        "--logdir",
        type=PATH,
        help="Folder of all logs.  [default: rain-UID/logs/rain-HOST-PID in the temporary folder]",
        cls=OfServer,
    ),
    click.option(
        "--journal",
        type=PATH,
        metavar="FOLDER",
        help="Keep the state of the server in this folder, so that the next start goes on from it;"
        " 'none' for no journal.  [default: a folder for its port in your state folder; none for"
        " port 0]",
        cls=OfServer,
    ),
    click.option(
        "--users",
        type=PATH,
        metavar="FILE",
        help="The file users.toml, which says what users of the cluster may do. The server reads"
        " it again when it changes.",
        cls=OfServer,
    ),
    click.option(
        "--standby",
        is_flag=True,
        help="Start a second server on this machine, which takes over if the first one dies.",
        cls=OfServer,
    ),
    click.option(
        "--standby-host",
        metavar="HOST",
        default="",
        help="Start a second server on this host, which takes over if the first one dies. It is"
        " reached through ssh and shares the folder of --journal.",
        cls=OfServer,
    ),
)

_OF_GOVERNORS = (
    click.option(
        "--advertise",
        metavar="HOST",
        default="",
        help="The name or address by which governors and programs on other machines reach this one,"
        " if it is not that of the host.",
    ),
    click.option(
        "--governor-config",
        type=PATH,
        metavar="FILE",
        help="A TOML file with executors of your own, for every governor.",
    ),
    click.option(
        "--cache-limit",
        metavar="SIZE",
        help="The size limit of the cache of results of every governor, for example 50GiB.",
    ),
    click.option(
        "--workdir",
        type=PATH,
        help="The folder in which each governor gets a work folder: governor-0 and so on.",
    ),
    click.option(
        "--timeout",
        type=click.FloatRange(min=0.0, min_open=True),
        default=60.0,
        show_default=True,
        metavar="SECONDS",
        help="How long the whole start may take.",
    ),
    click.option(
        "--runprefix",
        callback=parsed(words),
        default="",
        metavar="COMMAND",
        help="A command to run each daemon with, for example 'nice'.",
    ),
    click.option(
        "--before",
        default="",
        metavar="COMMANDS",
        help="Shell commands to run before each governor, for example 'module load python'.",
    ),
    click.option(
        "--after",
        default="",
        metavar="COMMANDS",
        help="Shell commands to run on its machine when a governor has ended.",
    ),
    click.option(
        "--resource",
        "resources",
        multiple=True,
        metavar="NAME=AMOUNT",
        callback=parsed(read_named),
        help="Another resource that each governor offers, for example licence=2; may be repeated.",
    ),
    click.option(
        "--env",
        multiple=True,
        metavar="NAME=VALUE",
        callback=parsed(read_variable),
        help="A variable in the environment of each governor and its tasks; may be repeated.",
    ),
    click.option(
        "--container",
        default="",
        metavar="IMAGE",
        help="Run each governor in this image of Apptainer, which has Rain in it.",
    ),
    click.option(
        "--container-options",
        callback=parsed(words),
        default="",
        metavar="OPTIONS",
        help="More options of 'apptainer exec', for example '--nv'.",
    ),
    click.option(
        "--scratch",
        default="",
        metavar="FOLDER",
        callback=parsed(read_scratch),
        help="Where each governor keeps its data; variables are replaced on its machine, as in"
        " '/scratch/$USER'.",
    ),
)
"""The options that `rain add` has, too."""


def start_options(run: Callable[..., StartRequest]) -> Callable[..., StartRequest]:
    """Adds the options of all starts, which the command gets as `options`.

    The command itself starts nothing: it returns a request. So a file, a program and `rain add` can
    use the same options.
    """
    handed_on = HANDED_ON.keys() - signature(run).parameters

    @wraps(run)
    def command(**values: Any) -> StartRequest:
        from attrs import fields_dict

        from rain.start.options import StartOptions

        said = {name: values.pop(name) for name in fields_dict(StartOptions) if name in values}
        more = {name: values.pop(name) for name in handed_on if name in values}
        said["of_server"], said["of_governors"] = words_for_server(more), words_for_governors(more)
        return run(options=StartOptions(**said), **values)

    for option in reversed((*_OF_SERVER, *_OF_GOVERNORS)):
        command = option(command)
    return command


def of_governors(command: click.Command) -> click.Command:
    """The same command of `rain start`, without the options of the server."""
    kept = [
        parameter
        for parameter in command.params
        if not isinstance(parameter, OfServer) and parameter.name not in SERVER_OPTIONS
    ]
    same = click.Command(command.name, params=kept, callback=command.callback, help=command.help)
    same.epilog = epilog_of(same)
    return same


def start_and_tell(order: StartRequest) -> int:
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
    queued = f", submitted to {cluster.jobs[0].launcher}" if cluster.jobs else ""
    many = f"{count} governor{'s' if count > 1 else ''}{queued}"
    if cluster.scaler is not None:
        many = "governors when tasks wait for them"
    click.echo(f"Rain is ready: a server and {many}.")
    click.echo(f"  server  {cluster.address}")
    if cluster.standby is not None:
        click.echo(f"  standby {cluster.standby.address}")
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
    if cluster.jobs or cluster.scaler is not None:
        click.echo("  look    rain status")
    if started.note:
        click.echo(f"  journal {started.note}")
    click.echo(f"  stop    rain stop {shlex.quote(str(cluster.log_folder))}")
    if started.unlisted:
        click.echo(f"'rain stop' does not list it, because {started.unlisted}", err=True)
