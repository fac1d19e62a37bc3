"""A disk that is full: files of this process cannot grow beyond a size."""

from __future__ import annotations

import resource
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def files_no_larger_than(size: int) -> Generator[None]:
    """Python ignores the signal of the system, so that writing more raises `OSError`."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
