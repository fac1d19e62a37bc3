"""Periodically measures the load of the machine and reports it as an event."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import trio
from attrs import evolve
from structlog.typing import FilteringBoundLogger

from rain.base.transfers import Transfers
from rain.governor.core.events import Sampled, Tell
from rain.governor.machine.monitoring import Reading, read_cores, read_memory, read_network, sample

SECONDS = 5.0
"""The default interval between two samples."""

MOST_WAYS = 16
"""The most unreachable governors in a report, which is for people."""

_PROC = Path("/proc")


def read(proc: Path = _PROC) -> Reading:
    """Reads the current values of the kernel; raises OSError where they are not available."""
    return Reading(
        read_cores((proc / "stat").read_text(encoding="utf-8")),
        read_memory((proc / "meminfo").read_text(encoding="utf-8")),
        read_network((proc / "net/dev").read_text(encoding="utf-8")),
    )


async def keep_sampling(
    seconds: float,
    closed_ways: Callable[[], Sequence[tuple[str, str]]],
    transfers: Callable[[], Transfers],
    tell: Tell,
    log: FilteringBoundLogger,
) -> None:
    """Reports a sample periodically; never if `seconds` is 0 or the kernel has no values.

    `closed_ways` has the governors that this one could not connect to, and why; `transfers` what
    it has sent.
    """
    if not seconds:
        return
    try:
        before = read()
        while True:
            await trio.sleep(seconds)
            now = read()
            ways = tuple(closed_ways()[:MOST_WAYS])
            seen = sample(before, now)
            tell(Sampled(evolve(seen, closed_ways=ways, transfers=transfers())))
            before = now
    except OSError as error:
        log.warning("no monitoring", file=error.filename, reason=error.strerror)
