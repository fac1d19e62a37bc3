"""The governor's configuration file: the program of each executor.

    [executors.cpp]
    command = "./my-executor --verbose"        # split at single spaces, without quoting
    # or: command = ["./my-executor", "one argument"]

`parse_executors` applies the rules to a text; `read_executors` reads the file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeGuard

from rain.base.errors import RainError, StartError
from rain.governor.core.arrivals import BUILTIN

Commands = dict[str, tuple[str, ...]]
"""The command of each executor, by the name before the slash in task types."""


class ConfigError(RainError):
    """A configuration is wrong; says what."""


def parse_executors(text: str) -> Commands:
    """Parses the executors of a configuration; raises a one-line `ConfigError` for any mistake."""
    import tomllib  # noqa: PLC0415 # most governors have no configuration

    try:
        config = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"it is not TOML: {error}") from None
    _only(config, "the file", {"executors"})
    executors = config.get("executors")
    if executors is None:
        raise ConfigError("the table [executors] is missing")
    if not _is_table(executors):
        raise ConfigError("'executors' must be a table: [executors.NAME]")
    return {name: _command(name, table) for name, table in executors.items()}


def _command(name: str, table: object) -> tuple[str, ...]:
    where = f"executors.{name}"
    if not name or "/" in name:
        raise ConfigError(f"{name!r} cannot be the name of an executor: it is empty or has a slash")
    if name == BUILTIN:
        raise ConfigError(f"{where}: the tasks of {BUILTIN!r} run inside the governor")
    if not _is_table(table):
        raise ConfigError(f"{where} must be a table with a command")
    _only(table, where, {"command"})
    command = table.get("command")
    if command is None:
        raise ConfigError(f"{where}.command is missing")
    words: list[Any]
    if isinstance(command, str):
        words = command.split(" ")
    elif _is_list(command):
        words = command
    else:
        raise ConfigError(f"{where}.command must be a text or a list of texts")
    if not all(isinstance(word, str) and "\0" not in word for word in words):
        raise ConfigError(f"{where}.command must be a text or a list of texts, without zero bytes")
    if not words or not words[0]:
        raise ConfigError(f"{where}.command names no program")
    return tuple(words)


def _only(table: dict[str, Any], where: str, known: set[str]) -> None:
    surplus = sorted(set(table) - known)
    if surplus:
        names = ", ".join(map(repr, surplus))
        raise ConfigError(f"{where} has the unknown {names}; known: {', '.join(sorted(known))}")


def _is_table(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def _is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def read_executors(path: Path | None) -> Commands:
    """Reads the executors of the file, or none without a file; `StartError` says what is wrong.

    A relative path with a slash is relative to the folder of the file, because each executor
    starts in its own folder.
    """
    if path is None:
        return {}
    try:
        commands = parse_executors(path.read_text(encoding="utf-8"))
        folder = path.resolve().parent
    except OSError as error:
        raise StartError(f"the configuration {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise StartError(f"the configuration {path} is not UTF-8") from None
    except ConfigError as error:
        raise StartError(f"the configuration {path} is wrong: {error}") from None
    return {name: _from_folder(words, folder) for name, words in commands.items()}


def _from_folder(words: tuple[str, ...], folder: Path) -> tuple[str, ...]:
    program = words[0]
    return (str(folder / program), *words[1:]) if "/" in program else words
