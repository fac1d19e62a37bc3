"""Logs of the daemons: readable text on standard error, and JSON lines in the log folder.

Ids are fields, never part of the text, so that a log can be searched. Messages for single tasks
have the level "debug".
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import structlog
from structlog.typing import FilteringBoundLogger, Processor

LEVELS = ("debug", "info", "warning", "error")


class LogFile(logging.FileHandler):
    """A log file that may be on a full disk: lost messages are reported once."""

    _has_told = False

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 # the name in logging
        error = sys.exc_info()[1]
        if isinstance(error, OSError):
            self._tell(error)
        else:
            super().handleError(record)

    def close(self) -> None:
        try:
            super().close()
        except OSError as error:  # the rest could not be written
            self._tell(error)

    def _tell(self, error: OSError) -> None:
        if not self._has_told:
            self._has_told = True
            sys.stderr.write(f"rain: the log {self.baseFilename} is incomplete: {error.strerror}\n")


def configure(program: str, folder: Path, level: str) -> FilteringBoundLogger:
    """Sets up the logs of this process and returns its logger."""
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    root = logging.getLogger("rain")
    root.setLevel(level.upper())
    root.propagate = False
    for handler in list(root.handlers):
        root.removeHandler(handler)
        handler.close()
    people = logging.StreamHandler(sys.stderr)
    people.setFormatter(
        _formatter(structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty()), shared)
    )
    machines = LogFile(folder / f"{program}.log", encoding="utf-8")
    machines.setFormatter(_formatter(structlog.processors.JSONRenderer(), shared))
    root.addHandler(people)
    root.addHandler(machines)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.make_filtering_bound_logger(level),
        cache_logger_on_first_use=True,
    )
    logger: FilteringBoundLogger = structlog.get_logger(f"rain.{program}")
    return logger


def close() -> None:
    """Closes the files of this process's logs."""
    root = logging.getLogger("rain")
    for handler in list(root.handlers):
        root.removeHandler(handler)
        handler.close()


def _formatter(renderer: Processor, shared: list[Processor]) -> logging.Formatter:
    return structlog.stdlib.ProcessorFormatter(
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        foreign_pre_chain=shared,
    )
