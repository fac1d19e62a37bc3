"""The surroundings of a governor on its machine: commands, variables, a container, a folder. No
I/O.

`Surroundings.first` are shell commands that come before a governor. `wrapped` is the command of a
governor with the rest around it. Without anything to put around, it is the command itself.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from attrs import frozen

IN_CONTAINER = ("python3", "-m", "rain")
"""How Rain is run in a container, which has a Python and a Rain of its own."""

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SIGNALS = "HUP INT TERM USR2"
_PATHS = frozenset({"--config", "--secret-file", "--tls"})


@frozen
class Surroundings:
    """What a user puts around each governor."""

    before: str = ""  # shell commands that come first
    after: str = ""  # shell commands that come when the governor has ended
    environment: tuple[tuple[str, str], ...] = ()
    container: str = ""  # an image of Apptainer
    container_options: tuple[str, ...] = ()
    scratch: str = ""  # a folder of the machine, in which variables are replaced there

    @property
    def first(self) -> str:
        """The shell commands before the governor, which see the environment already."""
        exports = [f"export {name}={shlex.quote(value)}" for name, value in self.environment]
        return "\n".join([*exports, *([self.before] if self.before else [])])


NOTHING = Surroundings()


def read_variable(text: str) -> tuple[str, str]:
    """NAME=VALUE; ValueError if it is not."""
    name, equals, value = text.partition("=")
    if not equals or not _VARIABLE.fullmatch(name):
        raise ValueError(f"{text!r} is not NAME=VALUE")
    return name, value


def read_scratch(text: str) -> str:
    """The folder as it stands between double quotes of a shell; ValueError if it cannot."""
    if any(character in text for character in '"\\`\n'):
        raise ValueError(f"{text!r} is not a folder")
    rest = text.removeprefix("~/")
    return text if rest == text else f"$HOME/{rest}"


def wrapped(
    command: Sequence[str],
    around: Surroundings,
    name: str,
    *,
    first: str = "",
    folder: Path,
    log_folder: Path,
) -> tuple[str, ...]:
    """The command of a governor with what is around it; more arguments may follow.

    A shell becomes the governor (`exec`), unless something is to be done when it has ended. Then it
    waits: those that end a governor tell its whole process group, so it takes no notice of signals,
    and hands none on, because two would end a governor that drains at once.
    """
    if not (first or around.after or around.container or around.scratch):
        return tuple(command)
    steps = [first] if first else []
    work = ""
    if around.scratch:
        steps += [f'scratch="{around.scratch}"', 'mkdir -p -- "$scratch" || exit 1']
        work = f' --workdir "$scratch"/{shlex.quote(name)}'
    run = shlex.join(command)
    if around.container:
        run = f"{_container(command, around, folder, log_folder)} {run}"
    if not around.after:
        return _shell([*steps, f'exec {run}{work} "$@"'])
    ends = ["status=$?", f"trap - {_SIGNALS}", around.after, "exit $status"]
    return _shell([*steps, f"trap : {_SIGNALS}", f'{run}{work} "$@"', *ends])


def _shell(lines: Sequence[str]) -> tuple[str, ...]:
    return ("/bin/sh", "-c", "\n".join(lines), "rain-governor")


def _container(command: Sequence[str], around: Surroundings, folder: Path, log_folder: Path) -> str:
    """The command that runs another one in a container, with all paths that the command names."""
    named = [value for option, value in pairwise(command) if option in _PATHS]
    paths = [str(folder), str(log_folder), *(path for path in named if path != "none")]
    binds = [word for path in dict.fromkeys(paths) for word in ("--bind", path)]
    run = shlex.join(["apptainer", "exec", "--pwd", str(folder), *binds])
    scratch = ' --bind "$scratch"' if around.scratch else ""
    return f"{run}{scratch} {shlex.join([*around.container_options, around.container])}"
