"""A descriptor that is kept for the moment when there are no others: to say so to who connects.

Without it a connection that cannot be accepted waits in the kernel's queue, and its other end waits
for an answer that nobody gives.
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
"""Seconds without a refusal after which the next one is news again."""


class Reserve:
    """One open file. It may be lost to another thread while it is lent, and comes back later."""

    def __init__(self) -> None:
        self._descriptor: int | None = None
        self._last = -QUIET
        self._fill()

    @contextmanager
    def lent(self) -> Generator[None]:
        """In here one more descriptor can be opened, which must be closed in here as well."""
        self.close()
        try:
            yield
        finally:
            self._fill()

    def is_news(self) -> bool:
        """Whether it is worth a line in the log that somebody is refused now."""
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
    """What those are told that cannot be let in."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return (
        f"it has no file descriptors left, of which it may have {limit}: start it with a higher"
        " limit (ulimit -n), or try again when others have left"
    )
