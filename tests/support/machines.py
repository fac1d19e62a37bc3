"""Several machines for tests, which are skipped where this user may not make them."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack, contextmanager

import pytest

from bench.machines import Machine
from bench.machines import machines as made

__all__ = ["Machine", "machines"]


@contextmanager
def machines(count: int) -> Generator[tuple[str, list[Machine]], None, None]:
    """Our address on their bridge, and the machines."""
    with ExitStack() as stack:
        try:
            known = stack.enter_context(made(count))
        except OSError as error:
            pytest.skip(f"this user may not make networks: {error.strerror}")
        yield known
