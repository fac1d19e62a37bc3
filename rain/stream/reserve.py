"""A reserve descriptor, used to refuse connections when no other descriptors are left.

Without it, a connection that cannot be accepted would wait in the kernel's queue, and the peer
would wait for an answer that never comes.
"""

from __future__ import annotations

import errno
import os
import resource
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress

OUT_OF_DESCRIPTORS = {errno.EMFILE, errno.ENFILE}

QUIET = 60.0
"""Seconds without a refusal after which the next one is logged again."""


class Reserve:
    """One open file. Another thread may take its place while it is lent; it is reopened later."""

    def __init__(self) -> None:
        self._descriptor: int | None = None
        self._last = -QUIET
        self._fill()

    @contextmanager
    def lent(self) -> Generator[None]:
        """In this scope one more descriptor can be opened, and must be closed again."""
        self.close()
        try:
            yield
        finally:
            self._fill()

    def is_news(self) -> bool:
        """Whether a refusal now should be logged."""
        now = time.monotonic()
        before, self._last = self._last, now
        return now - before >= QUIET

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _fill(self) -> None:
        with suppress(OSError):
            self._descriptor = os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)


def why_full() -> str:
    """The reason that refused peers get."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return (
        f"it has no file descriptors left, of which it may have {limit}: start it with a higher"
        " limit (ulimit -n), or try again when others have left"
    )
