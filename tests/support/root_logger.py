"""The root logger as in a program that has set up nothing, whatever pytest has added to it."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def fresh_root_logger() -> Generator[None]:
    """Also a decorator of tests: pytest adds its handlers only after all fixtures."""
    root = logging.root
    handlers, level = root.handlers, root.level
    root.handlers = []
    root.setLevel(logging.WARNING)
    try:
        yield
    finally:
        root.handlers = handlers
        root.setLevel(level)
