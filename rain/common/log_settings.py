"""Carries the logging settings of a program to its tasks."""

from __future__ import annotations

import logging
import sys
from typing import Any, Literal, NamedTuple, TypeAlias, cast

NAME = "rain"
"""The name of the handler that an executor adds for a program."""

Style: TypeAlias = Literal["%", "{", "$"]

_STYLES: tuple[tuple[Style, type[logging.PercentStyle]], ...] = (
    ("{", logging.StrFormatStyle),
    ("$", logging.StringTemplateStyle),
    ("%", logging.PercentStyle),  # the others are derived from it
)


class LogSettings(NamedTuple):
    """The level of the root logger, the format of its handler, and the levels of other loggers."""

    level: int
    format: str = logging.BASIC_FORMAT
    date_format: str | None = None
    style: Style = "%"
    to_stdout: bool = False
    levels: tuple[tuple[str, int], ...] = ()  # of the loggers that have one


_taken_over: dict[str, int] = {}
"""The loggers whose levels a program has set in this process, with those that they had."""


def log_settings() -> LogSettings | None:
    """The settings of this program; None if it has set nothing, or only what Python does by
    default.
    """
    root = logging.root
    if not root.handlers:
        return None
    for handler in root.handlers:
        if _is_plain(handler):
            stream: object = cast("logging.StreamHandler[Any]", handler).stream
            to_stdout = stream is sys.stdout
            return LogSettings(root.level, *_format_of(handler), to_stdout, _levels())
    return None if root.level == logging.WARNING else LogSettings(root.level, levels=_levels())


def _levels() -> tuple[tuple[str, int], ...]:
    """Those of Rain itself are about its own messages, which an executor writes in its own way."""
    known = logging.root.manager.loggerDict.copy()
    return tuple(
        (name, logger.level)
        for name in sorted(known)
        if isinstance(logger := known[name], logging.Logger)
        and logger.level != logging.NOTSET
        and name.partition(".")[0] != NAME
    )


def _is_plain(handler: logging.Handler) -> bool:
    """Whether it is a handler as `basicConfig` makes it."""
    return type(handler) is logging.StreamHandler


def _format_of(handler: logging.Handler) -> tuple[str, str | None, Style]:
    formatter = handler.formatter
    if type(formatter) is not logging.Formatter or formatter._fmt is None:
        return "%(message)s" if formatter is None else logging.BASIC_FORMAT, None, "%"
    style = formatter._style
    found: Style = next(char for char, kind in _STYLES if isinstance(style, kind))
    return formatter._fmt, formatter.datefmt, found


def apply(settings: LogSettings | None) -> None:
    """Sets up the root logger of this process as in a program; None restores Python's defaults.

    If code in this process has added a handler of its own, nothing changes.
    """
    root = logging.root
    for handler in [handler for handler in root.handlers if handler.name == NAME]:
        root.removeHandler(handler)
        root.setLevel(logging.WARNING)
    for name, before in _taken_over.items():
        logging.getLogger(name).setLevel(before)
    _taken_over.clear()
    if settings is None or root.handlers:
        return
    ours = logging.StreamHandler(sys.stdout if settings.to_stdout else sys.stderr)
    ours.name = NAME
    ours.setFormatter(logging.Formatter(settings.format, settings.date_format, settings.style))
    root.addHandler(ours)
    root.setLevel(settings.level)
    for name, level in settings.levels:
        logger = logging.getLogger(name)
        _taken_over[name] = logger.level
        logger.setLevel(level)


def forget_default() -> None:
    """Removes the handler that Python adds when a program logs without any set-up.

    With this handler, `basicConfig` would have no effect in a later task.
    """
    root = logging.root
    if len(root.handlers) == 1 and root.level == logging.WARNING:
        (handler,) = root.handlers
        is_unnamed = _is_plain(handler) and handler.name is None
        if is_unnamed and _format_of(handler) == (logging.BASIC_FORMAT, None, "%"):
            root.removeHandler(handler)
