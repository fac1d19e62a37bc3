"""The command line: `rain`, `rain-server`, `rain-governor`.

Each command is a file here; `options` has what several of them share. Heavy
imports wait until the command is known, so that `--help` answers at once. A `RainError` is printed
as one line on standard error, with exit status 1.
"""

from __future__ import annotations

import errno
import sys
from pathlib import Path
from typing import NoReturn

import click

import rain
from rain.base.errors import RainError
from rain.cli.add_command import add
from rain.cli.cache_command import cache
from rain.cli.drain_command import drain
from rain.cli.embedded_command import embedded
from rain.cli.env_command import env
from rain.cli.governor_command import governor
from rain.cli.journal_command import journal
from rain.cli.keys_command import keys
from rain.cli.lab_command import lab
from rain.cli.logs_command import logs
from rain.cli.misspelled import NamesCommands, unknown_option
from rain.cli.remove_command import remove
from rain.cli.restart_command import restart
from rain.cli.scaler_command import scaler
from rain.cli.server_command import server
from rain.cli.sessions_command import sessions
from rain.cli.start_command import start
from rain.cli.status_command import status
from rain.cli.stop_command import stop
from rain.cli.template_command import template
from rain.cli.token_command import token
from rain.cli.usage_command import queue, usage


@click.group(cls=NamesCommands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(rain.__version__, prog_name="rain")
def cli() -> None:
    """Rain runs large graphs of tasks on one machine or on many.

    A server plans, governors (one worker daemon per machine) run the tasks, and Python programs
    submit tasks with rain.client.Client. Client() alone starts all of it on this machine; for a
    cluster that outlives the program:

    \b
      rain start --simple      # a server and a governor on this machine
      rain status              # what runs, and the address of the dashboard
      python my_program.py     # in which Client("localhost", 7210) connects to it
      rain stop
    """


_DAEMONS = (server, governor)
_CLUSTERS = (start, add, remove, stop, restart, drain, status, queue, usage, sessions, token, logs)
for _command in (*_DAEMONS, *_CLUSTERS, embedded, template, scaler, lab, cache, env, journal, keys):
    cli.add_command(_command)


def _run(command: click.Command, name: str) -> NoReturn:
    """Runs a command as a program: exits with its status, prints one line for a RainError."""
    try:
        status = command.main(prog_name=name, standalone_mode=False)
    except click.NoSuchOption as error:
        unknown_option(error).show()
        sys.exit(error.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.Abort:
        sys.exit(130)
    except RainError as error:
        print(f"{name}: {error}", file=sys.stderr)  # noqa: T201 -- the one line of an error
        sys.exit(1)
    except OSError as error:
        why = _why_here(error)
        if not why:
            raise
        print(f"{name}: {why}", file=sys.stderr)  # noqa: T201 -- as above
        sys.exit(1)
    sys.exit(status if isinstance(status, int) else 0)


def _why_here(error: OSError) -> str:
    """What is wrong with the place where a command runs, or with its output; "" if neither is."""
    if error.errno == errno.ENOSPC and error.filename is None:
        return f"the output cannot be written: {error.strerror}"
    try:
        Path.cwd()
    except FileNotFoundError:
        return "the current folder was removed: go to another one"
    return ""


def main() -> NoReturn:
    """`rain COMMAND`."""
    _run(cli, "rain")


def server_main() -> NoReturn:
    """`rain-server`, the same as `rain server`."""
    _run(server, "rain-server")


def governor_main() -> NoReturn:
    """`rain-governor`, the same as `rain governor`."""
    _run(governor, "rain-governor")
