"""Reads cluster.toml: the options of `rain start` for a whole cluster in one file.

The file has no list of options of its own. Its keys are the options of the command that it
replaces, and that command checks their values. So every option of `rain start slurm` can be in the
file, and mistakes are reported in the same way.
"""

from __future__ import annotations

import datetime as dt
import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click
from attrs import evolve, frozen

from rain.base.errors import StartError
from rain.cli.handed_on import HANDED_ON, words_for_governors, words_for_server
from rain.cli.options import PATH
from rain.cli.start_alone import start_command, start_names
from rain.cli.start_options import of_governors

if TYPE_CHECKING:
    from rain.start.options import StartOptions, StartRequest

LAUNCHER, KINDS = "launcher", "kinds"
_OF_EACH_KIND = ("governors", "max", "min", "kind")
"""Keys that have to be inside a kind, not above the kinds."""
_OF_SCALED, _OF_FIXED = {"idle", "largest"}, {"wait"}
"""Keys above the kinds that apply only to kinds whose number follows the work, or only to those
with a fixed number.
"""
_NO_PATH = "none"
_CALLED = {"further": "options"}
"""Better names for arguments of commands, which have no `--`."""


@frozen
class ClusterFile:
    """The command that a file replaces, and the values of its parameters."""

    path: Path
    command: click.Command
    values: dict[str, object]

    def order(self, more: Mapping[str, object]) -> StartRequest:
        """The cluster that is asked for; `more` wins over the file, and has the same names."""
        return _order(self.command, {**self.values, **read_values(self.command, more)})


def _with_kinds(command: click.Command, kinds: Sequence[ClusterFile]) -> click.Command:
    """A command that asks for governors of further kinds, too."""

    def asks(**values: object) -> StartRequest:
        assert command.callback is not None
        first: StartRequest = command.callback(**values)
        return evolve(first, kinds=tuple([kind.order({}) for kind in kinds]))

    return click.Command(command.name, params=command.params, callback=asks, help=command.help)


def read_order(launcher: str, said: Mapping[str, object]) -> StartRequest:
    """The governors that a program asks for in the words of the command line."""
    command = of_governors(_command(launcher, ""))
    return _order(command, read_values(command, said))


def _order(command: click.Command, values: dict[str, object]) -> StartRequest:
    try:
        with command.make_context(command.name, [], default_map=values) as context:
            order: StartRequest = command.invoke(context)
    except click.ClickException as error:
        raise StartError(error.format_message()) from None
    return order


def read_cluster_file(path: Path) -> ClusterFile:
    """Reads a file; StartError names what is wrong in it, and the line."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise StartError(f"the cluster file {path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise StartError(f"the cluster file {path} is not text: {error}") from error
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise StartError(f"{path} is not TOML: {error}") from None
    place = _Place(path, text)
    name, kinds = content.pop(LAUNCHER, ""), content.pop(KINDS, None)
    command = _command(name, place.at(LAUNCHER))
    if kinds is None:
        return ClusterFile(path, command, read_values(command, content, place))
    first, *others = _read_kinds(kinds, name, content, place)
    return ClusterFile(path, _with_kinds(first.command, others), first.values)


def _read_kinds(
    kinds: object, launcher: str, common: Mapping[str, object], place: _Place
) -> list[ClusterFile]:
    """The kinds of governors of a file, each with what is said for all of them."""
    if not isinstance(kinds, list) or not kinds:
        raise StartError(
            f"{place.at(KINDS)}{KINDS} are tables: write [[{KINDS}]] above each of them"
        )
    for key in _OF_EACH_KIND:
        if key in common:
            raise StartError(f"{place.at(key)}{key!r} belongs into each of the [[{KINDS}]]")
    found: list[ClusterFile] = []
    unknown = dict(common)
    for number, table in enumerate(cast("list[object]", kinds)):
        there = evolve(place, kind=number)
        if not isinstance(table, dict):
            raise StartError(f"{place.at(KINDS)}{KINDS} are tables: write [[{KINDS}]] above each")
        said = dict(cast("dict[str, object]", table))
        name = said.pop(LAUNCHER, launcher)
        command = _command(name, there.at(LAUNCHER))
        if number:
            command = of_governors(command)
        known = {_key(parameter) for parameter in command.params}
        unknown = {key: one for key, one in unknown.items() if key.replace("_", "-") not in known}
        known -= _OF_FIXED if "max" in said else _OF_SCALED
        shared = {key: value for key, value in common.items() if key.replace("_", "-") in known}
        own = read_values(command, said, there)
        found.append(
            ClusterFile(place.file, command, {**read_values(command, shared, place), **own})
        )
    read_values(found[0].command, unknown, place)  # no kind knows them: the first one says so
    return found


def _command(name: object, at: str) -> click.Command:
    command = start_command(name) if isinstance(name, str) else None
    if command is None:
        raise StartError(f"{at}no launcher {name!r}{_hint(str(name), start_names())}")
    return command


@frozen
class _Place:
    """A place in a file, for error messages: the file, its text, and the kind if there is one."""

    file: Path
    text: str
    kind: int | None = None

    def at(self, key: str) -> str:
        """The beginning of a sentence about this key."""
        return f"{self.file}, line {line_of(self.text, key, self.kind)}: "


def line_of(text: str, key: str, kind: int | None = None) -> int:
    """The line on which a key of a TOML file begins. The parser reads the file up to each line in
    turn: the key begins on the line after which the result first has it. `kind` is the number of
    the table in `kinds` that has the key.
    """
    lines = text.splitlines(keepends=True)
    begins = 1
    for count in range(1, len(lines) + 1):
        try:
            found = tomllib.loads("".join(lines[:count]))
        except tomllib.TOMLDecodeError:
            continue  # in the middle of a value
        if kind is not None:
            tables: list[dict[str, object]] = found.get(KINDS, [])
            found = tables[kind] if kind < len(tables) else {}
        if key in found:
            return begins
        begins = count + 1
    return begins


def read_values(
    command: click.Command, given: Mapping[str, object], place: _Place | None = None
) -> dict[str, object]:
    """The values of a command's parameters by their names, as a file or a program gives them."""
    known = {_key(parameter): parameter for parameter in command.params}
    found: dict[str, object] = {}
    for key, value in given.items():
        at = "" if place is None else place.at(key)
        parameter = known.get(key.replace("_", "-"))
        if parameter is None:
            name = "" if command.name == "start" else f" {command.name}"
            raise StartError(f"{at}rain start{name} has no option {key!r}{_hint(key, known)}")
        assert parameter.name is not None
        if parameter.name in found:
            raise StartError(f"{at}{key!r} is given twice")
        try:
            said = _read(parameter, value)
            if place is not None:
                said = _from_folder(parameter, said, place.file.parent)
            _check(command, parameter, said)
        except ValueError as error:
            raise StartError(f"{at}{key}: {error}") from None
        found[parameter.name] = said
    return found


def read_start_options(said: Mapping[str, Any]) -> StartOptions:
    """The options that a program gives for all governors, under the names of `StartOptions`.

    Those that daemons are handed have the names that their commands give them.
    """
    from attrs import fields_dict

    from rain.start.options import StartOptions

    own, more = fields_dict(StartOptions).keys(), HANDED_ON.keys()
    for name in said:
        if name not in own and name not in more:
            raise StartError(f"there is no option {name!r}{_hint(name, (*own, *more))}")
    keys = {name: _key(option) for name, option in HANDED_ON.items()}
    read = read_values(
        click.Command("start", params=list(HANDED_ON.values())),
        {keys[name]: value for name, value in said.items() if name in more},
    )
    return StartOptions(
        of_server=words_for_server(read),
        of_governors=words_for_governors(read),
        **{name: value for name, value in said.items() if name in own},
    )


def _key(parameter: click.Parameter) -> str:
    """The key of a parameter in a file: its longest option, without the leading hyphens."""
    if isinstance(parameter, click.Option):
        return max(parameter.opts, key=len).lstrip("-")
    name = parameter.name or ""
    return _CALLED.get(name, name)


def _read(parameter: click.Parameter, value: object) -> object:
    """The value in the words of a command line; ValueError if it is of a wrong kind."""
    if isinstance(parameter, click.Option) and parameter.is_flag:
        if not isinstance(value, bool):
            raise ValueError(f"it is true or false, and not {value!r}")
        return value
    if not parameter.multiple and parameter.nargs == 1:
        return _word(value)
    if isinstance(value, Mapping):  # a table of names and values
        table = cast("Mapping[str, object]", value)
        return [f"{name}={_word(one)}" for name, one in table.items()]
    if isinstance(value, list | tuple):
        return [_word(one) for one in cast("list[object]", value)]
    return [_word(value)]


def _word(value: object) -> str:
    if isinstance(value, dt.time):  # 01:00:00 without quotes
        return value.isoformat()
    if isinstance(value, bool) or not isinstance(value, str | int | float | os.PathLike):
        raise ValueError(f"it is one word or number, and not {value!r}")
    return (
        os.fspath(cast("os.PathLike[str]", value)) if isinstance(value, os.PathLike) else str(value)
    )


def _from_folder(parameter: click.Parameter, said: object, folder: Path) -> object:
    """Paths in a file are relative to its folder, and ~ is the home folder."""
    if parameter.type is PATH and isinstance(said, str) and said != _NO_PATH:
        return str(folder / Path(said).expanduser())
    if parameter.name == "scheduler" and isinstance(said, str) and ".py:" in said:
        return str(folder / Path(said).expanduser())
    if parameter.name == "hosts" and isinstance(said, list):
        hosts = cast("list[str]", said)
        file = folder / Path(hosts[0]).expanduser() if hosts else folder
        return [str(file)] if len(hosts) == 1 and ("/" in hosts[0] or file.is_file()) else hosts
    return said


def _check(command: click.Command, parameter: click.Parameter, said: object) -> None:
    try:
        parameter.process_value(click.Context(command), said)
    except click.BadParameter as error:
        raise ValueError(error.message) from None
    except StartError as error:
        raise ValueError(str(error).removeprefix(f"{parameter.opts[-1]} ")) from None


def _hint(name: str, known: Iterable[str]) -> str:
    nearest = get_close_matches(name.replace("_", "-"), known := list(known), 1)
    return f": did you mean {nearest[0]!r}?" if nearest else f": there are {', '.join(known)}"
