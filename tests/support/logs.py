"""A logger that remembers what it was told."""

from __future__ import annotations

import structlog
from structlog.testing import LogCapture
from structlog.typing import FilteringBoundLogger


def capturing_logger() -> tuple[FilteringBoundLogger, LogCapture]:
    """A logger, and the entries that go through it."""
    capture = LogCapture()
    logger: FilteringBoundLogger = structlog.wrap_logger(
        None,
        processors=[capture],
        wrapper_class=structlog.make_filtering_bound_logger("debug"),
    )
    return logger, capture
