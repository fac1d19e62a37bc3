"""The options of `rain server` and `rain governor` that `rain start` takes and hands on to them.

They are the same options: their names, meanings and values are those of the daemons. A command of
`rain start` that has an option of such a name itself keeps its own: `--memory` of a batch system is
what the job asks for.

What says where a daemon listens, writes and finds its secret is left out: `rain start` decides it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from copy import copy
from pathlib import Path
from textwrap import wrap

import click

from rain.cli.governor_command import governor
from rain.cli.server_command import server

_OF_SERVER = (
    *("scheduler", "scheduler_options", "scheduler_limit", "overbooking"),
    *("infeasible_grace", "crash_limit", "late_after", "late_factor"),
    *("governor_timeout", "client_timeout", "governor_grace", "client_grace"),
    *("lease", "lease_seconds"),
    *("event_log", "event_log_objects", "event_log_days", "event_log_limit"),
)
_OF_GOVERNORS = (
    *("memory", "store", "disk", "gpus", "spill_to", "share_store"),
    *("monitoring", "idle_seconds", "cancel_grace", "drain_seconds"),
    *("most_blocked", "task_processes", "task_descriptors"),
    *("environment_limit", "conda", "server_timeout", "server_away"),
)
_OF_BOTH = ("log_level",)

_WIDTH = 74


def _copies(command: click.Command, names: Collection[str]) -> dict[str, click.Option]:
    """Options that have no value unless they are given: the daemon knows its defaults."""
    found: dict[str, click.Option] = {}
    for option in command.params:
        if option.name in names and isinstance(option, click.Option):
            found[option.name] = another = copy(option)
            another.default, another.callback, another.hidden = None, None, True
    return found


SERVER_OPTIONS = _copies(server, _OF_SERVER)
GOVERNOR_OPTIONS = _copies(governor, (*_OF_GOVERNORS, *_OF_BOTH))
HANDED_ON = {**SERVER_OPTIONS, **GOVERNOR_OPTIONS}


def words_for_server(values: Mapping[str, object]) -> tuple[str, ...]:
    """What the server is told of these values, in the words of its command line."""
    return _words({name: values.get(name) for name in (*SERVER_OPTIONS, *_OF_BOTH)})


def words_for_governors(values: Mapping[str, object]) -> tuple[str, ...]:
    """What each governor is told of these values, in the words of its command line."""
    return _words({name: values.get(name) for name in GOVERNOR_OPTIONS})


def hands_on(command: click.Command) -> click.Command:
    """Adds them to a command of `rain start`, whose help names them at its end."""
    own = {parameter.name for parameter in command.params}
    command.params += [option for name, option in HANDED_ON.items() if name not in own]
    command.epilog = epilog_of(command)
    return command


def epilog_of(command: click.Command) -> str:
    """What the help of a command says of those options that it hands on."""
    said: list[str] = []
    for daemon, options in (("server", SERVER_OPTIONS), ("governor", GOVERNOR_OPTIONS)):
        names = " ".join(
            (*option.secondary_opts, *option.opts)[0]
            for option in options.values()
            if option in command.params
        )
        if names:
            lines = wrap(names, _WIDTH, break_on_hyphens=False)
            head = f"\b\nMore options, which 'rain {daemon} --help' describes:"
            said.append("\n  ".join([head, *lines]))
    return "\n\n".join(said)


def _words(values: Mapping[str, object]) -> tuple[str, ...]:
    words: list[str] = []
    for name, value in values.items():
        option = HANDED_ON[name]
        if isinstance(value, bool):
            words += [option.opts[0]] if value else option.secondary_opts[:1]
        elif isinstance(value, list | tuple):
            words += [f"{option.opts[0]}={one}" for one in value]
        elif value is not None:
            words.append(f"{option.opts[0]}={_whole(name, str(value))}")
    return tuple(words)


def _whole(name: str, said: str) -> str:
    """Files of schedulers by their whole paths: a restart may come from another folder."""
    return str(Path(said).absolute()) if name == "scheduler" and ".py:" in said else said
