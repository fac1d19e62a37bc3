"""Warnings of the server and the governor of a local cluster, as those of the program."""

from __future__ import annotations

import logging

import structlog
from structlog.typing import FilteringBoundLogger


def logger() -> FilteringBoundLogger:
    """Warnings of the server go where those of the program go."""
    log: FilteringBoundLogger = structlog.wrap_logger(
        logging.getLogger("rain.local"),
        processors=[structlog.processors.KeyValueRenderer(key_order=["event"])],
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
    )
    return log
