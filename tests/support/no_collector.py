"""The garbage collector off, so that a test finds what only the collector would find."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def no_collector() -> Generator[None]:
    """The collector does not run, and does not know what tests before this one have left."""
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()
