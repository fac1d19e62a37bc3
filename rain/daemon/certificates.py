"""Warns in the log before the certificate of a running daemon expires."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import trio
from structlog.typing import FilteringBoundLogger

if TYPE_CHECKING:
    from rain.tls.identity import Identity


EVERY = 3600.0
"""Seconds between two looks at the certificate, which may have been renewed."""

WARN_EVERY = 24
"""Looks between two warnings."""


async def keep_looking(
    identity: Identity,
    log: FilteringBoundLogger,
    look: Callable[[], object] = lambda: None,
    every: float = EVERY,
) -> None:
    """Warns each day from a month before the end on; `look` is called at each look."""
    count = 0
    while True:
        look()
        warning = identity.warning(time.time())
        if warning and count % WARN_EVERY == 0:
            log.warning(warning)
        count = count + 1 if warning else 0
        await trio.sleep(every)
