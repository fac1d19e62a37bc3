"""A machine that has no thread left for pools."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest


@contextmanager
def no_threads() -> Generator[None, None, None]:
    """Pools of threads take nothing meanwhile."""

    def refuse(_: object, *__: object) -> None:
        raise RuntimeError("can't start new thread")

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ThreadPoolExecutor, "submit", refuse)
        yield
