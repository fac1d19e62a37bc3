"""A machine that has no thread left: for pools, or for anything that Python starts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
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


@contextmanager
def refused_threads(names: Callable[[str], bool]) -> Generator[list[str], None, None]:
    """Threads of these names do not start meanwhile; gives the names of those that did not."""
    refused: list[str] = []
    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if names(thread.name):
            refused.append(thread.name)
            raise RuntimeError("can't start new thread")
        start(thread)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        yield refused
