"""Sends the warnings of a local cluster to the logging of the program."""

from __future__ import annotations

import logging

import structlog
from structlog.typing import FilteringBoundLogger


def logger() -> FilteringBoundLogger:
    """A logger whose warnings go to the logging of the program."""
    log: FilteringBoundLogger = structlog.wrap_logger(
        logging.getLogger("rain.local"),
        processors=[structlog.processors.KeyValueRenderer(key_order=["event"])],
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
    )
    return log
