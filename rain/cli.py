"""The command line: `rain`, `rain-server`, `rain-governor`.

Nothing heavy is imported before it is known which program runs, so that `--help` answers at once.
An error that has a name is one line on standard error and exit status 1.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn, TypeVar

import click

import rain
from rain.base.errors import RainError, StartError
from rain.start.commands import start, status, stop

F = TypeVar("F", bound=Callable[..., object])
LEVELS = click.Choice(["debug", "info", "warning", "error"])


def daemon_options(command: F) -> F:
    """The options that every daemon has."""
    for option in (
        click.option("--logdir", type=click.Path(path_type=Path), help="Folder of the logs."),
        click.option(
            "--log-level", type=LEVELS, default="info", show_default=True, help="What is logged."
        ),
        click.option(
            "--ready-file",
            type=click.Path(path_type=Path),
            help='Write "ready" into this file when ready.',
        ),
        click.option(
            "--ready-fd", type=int, hidden=True, help='Write "ready ADDRESS" to this descriptor.'
        ),
        click.option(
            "--parent-fd", type=int, hidden=True, help="End when this descriptor reports its end."
        ),
    ):
        command = option(command)
    return command


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(rain.__version__, prog_name="rain")
def cli() -> None:
    """Rain runs large graphs of tasks on one machine or on many.

    A server plans, governors (one per machine) run the tasks, and Python programs use
    rain.client.Client to say what there is to do.
    """


@cli.command()
@click.option(
    "-l",
    "--listen",
    "listen_at",
    metavar="ADDRESS",
    default="127.0.0.1:7210",
    show_default=True,
    help="Where to listen: PORT, HOST or HOST:PORT; port 0 picks a free one.",
)
@click.option(
    "--scheduler",
    default="rain",
    show_default=True,
    metavar="NAME",
    help="Which scheduler plans: a name, or FILE.py:CLASS.",
)
@click.option(
    "--overbooking",
    type=click.IntRange(min=1),
    default=128,
    show_default=True,
    help="How many tasks a governor may be told of at once.",
)
@click.option(
    "--governor-timeout",
    type=click.FloatRange(min=1.0),
    default=20.0,
    show_default=True,
    metavar="SECONDS",
    help="A governor that is silent for longer is taken for lost.",
)
@click.option(
    "--infeasible-grace",
    type=click.FloatRange(min=0.0),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="How long a task waits for a governor that could run it, when none can.",
)
@click.option(
    "--record",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write down every event, so that the run can be replayed.",
)
@click.option(
    "--event-log/--no-event-log",
    default=True,
    show_default=True,
    help="Keep every event in LOGDIR/events.db.",
)
@click.option(
    "--event-log-objects",
    is_flag=True,
    help="Keep an event for every finished data object too.",
)
@click.option(
    "--http-listen",
    metavar="ADDRESS",
    default="127.0.0.1:7222",
    show_default=True,
    help="Where to serve events and status over HTTP; port 0 picks a free one.",
)
@click.option("--no-http", is_flag=True, help="Serve no HTTP.")
@daemon_options
def server(
    listen_at: str,
    scheduler: str,
    overbooking: int,
    governor_timeout: float,
    infeasible_grace: float,
    record: Path | None,
    event_log: bool,
    event_log_objects: bool,
    http_listen: str,
    no_http: bool,
    logdir: Path | None,
    log_level: str,
    ready_file: Path | None,
    ready_fd: int | None,
    parent_fd: int | None,
) -> int:
    """Run the server.

    It listens on this machine only; name an address to open it to others, and keep in mind that
    whoever reaches it can run programs here.
    """
    import os

    from rain.daemon.addresses import parse_address
    from rain.daemon.readiness import Readiness
    from rain.server.http.listener import HttpSettings
    from rain.server.main import run_server
    from rain.server.settings import DEFAULT_HOST, DEFAULT_PORT, ServerSettings
    from rain.server.state import ReactorSettings

    host, port = parse_address(listen_at, DEFAULT_HOST, DEFAULT_PORT)
    settings = ServerSettings(
        host=host,
        port=port,
        scheduler=scheduler,
        log_folder=logdir,
        log_level=log_level,
        readiness=Readiness(ready_file, ready_fd),
        parent_fd=parent_fd,
        record=record,
        event_log=event_log,
        event_log_objects=event_log_objects,
        http=None if no_http else HttpSettings(*parse_address(http_listen, "127.0.0.1", 7222)),
        reactor=ReactorSettings(
            overbooking=overbooking,
            governor_silence=governor_timeout,
            infeasible_grace=infeasible_grace,
            test_mode=os.environ.get("RAIN_TEST_MODE") == "1",
            debug=os.environ.get("RAIN_DEBUG_MODE") == "1",
        ),
    )
    return run_server(settings)


def _cpus(text: str) -> int:
    """A number, `detect`, or minus the number of cpus to leave to others."""
    import os

    if text != "detect":
        try:
            wanted = int(text)
        except ValueError:
            raise click.BadParameter(
                f"{text!r} is neither a number nor 'detect'", param_hint="--cpus"
            ) from None
        if wanted >= 0 and not text.startswith("-"):
            return wanted
    else:
        wanted = 0
    detected = len(os.sched_getaffinity(0))
    if detected + wanted < 1:
        raise StartError(f"--cpus {text} leaves nothing of the {detected} cpus of this machine")
    return detected + wanted


@cli.command()
@click.argument("server", metavar="SERVER")
@click.option(
    "-l",
    "--listen",
    "listen_at",
    metavar="ADDRESS",
    default="127.0.0.1:0",
    show_default=True,
    help="Where other governors fetch data from this one.",
)
@click.option(
    "--cpus",
    default="detect",
    show_default=True,
    metavar="N",
    help="How many cpus to offer: a number, 'detect', or -K for all but K.",
)
@click.option(
    "--memory",
    default="detect",
    show_default=True,
    metavar="SIZE",
    help="How much memory to offer: 4G, 512MiB, or 'detect' for what there is.",
)
@click.option(
    "--gpus",
    default="detect",
    show_default=True,
    metavar="N",
    help="How many gpus to offer: a number, or 'detect'.",
)
@click.option(
    "--resource",
    "named",
    multiple=True,
    metavar="NAME=AMOUNT",
    help="Anything else to offer, for instance licence=2; may be repeated.",
)
@click.option("--share", default="0/1", hidden=True, help="I/N: which part of what is detected.")
@click.option(
    "--monitoring",
    type=click.FloatRange(min=0.0),
    default=5.0,
    show_default=True,
    metavar="SECONDS",
    help="How often to tell how busy this machine is; 0 for never.",
)
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A TOML file that names executors of your own.",
)
@click.option(
    "--workdir", type=click.Path(path_type=Path), help="A new folder for data and sandboxes."
)
@click.option(
    "--zero",
    is_flag=True,
    help="Run nothing and report every task as finished at once: measures the server alone.",
)
@daemon_options
def governor(
    server: str,
    listen_at: str,
    cpus: str,
    memory: str,
    gpus: str,
    named: tuple[str, ...],
    share: str,
    monitoring: float,
    config: Path | None,
    workdir: Path | None,
    zero: bool,
    logdir: Path | None,
    log_level: str,
    ready_file: Path | None,
    ready_fd: int | None,
    parent_fd: int | None,
) -> int:
    """Run a governor that works for the server at SERVER (HOST, PORT or HOST:PORT)."""
    from rain.daemon.addresses import parse_address
    from rain.daemon.readiness import Readiness
    from rain.governor.machine import Machine
    from rain.governor.main import run_governor
    from rain.governor.offer import Share, read_offer
    from rain.governor.settings import GovernorSettings

    server_host, server_port = parse_address(server, "127.0.0.1", 7210)
    host, port = parse_address(listen_at, "127.0.0.1", 0)
    offer = read_offer(_cpus(cpus), memory, gpus, named, Machine.this(), Share.read(share))
    settings = GovernorSettings(
        server_host=server_host,
        server_port=server_port,
        host=host,
        port=port,
        resources=offer.resources,
        gpus=offer.gpus,
        monitoring_seconds=monitoring,
        config=config,
        work_folder=workdir,
        zero=zero,
        log_folder=logdir,
        log_level=log_level,
        readiness=Readiness(ready_file, ready_fd),
        parent_fd=parent_fd,
    )
    return run_governor(settings)


cli.add_command(start)
cli.add_command(stop)
cli.add_command(status)


def _run(command: click.Command, name: str) -> NoReturn:
    """Runs a command as a whole program: its exit status, and one line for a named error."""
    try:
        status = command.main(prog_name=name, standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.Abort:
        sys.exit(130)
    except RainError as error:
        print(f"{name}: {error}", file=sys.stderr)  # noqa: T201 -- the one line of a named error
        sys.exit(1)
    sys.exit(status if isinstance(status, int) else 0)


def main() -> NoReturn:
    """`rain COMMAND`."""
    _run(cli, "rain")


def server_main() -> NoReturn:
    """`rain-server`, the same as `rain server`."""
    _run(server, "rain-server")


def governor_main() -> NoReturn:
    """`rain-governor`, the same as `rain governor`."""
    _run(governor, "rain-governor")
