"""Computes the load of the machine from the texts of the kernel; no I/O.

A sample has whole percents and cumulative bytes. The load of a cpu is its busy time between two
readings, so a sample needs the previous reading.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from rain.base.wire.update import Monitoring

_IDLE = (3, 4)  # the columns "idle" and "iowait"
_GUEST = 8  # from this column on, times are already included in earlier columns

Times = tuple[int, int]
"""The busy time and the total time of one core."""


@frozen
class Reading:
    """The values read at one moment."""

    cores: tuple[Times, ...]
    mem_usage: int
    network: tuple[tuple[str, int, int], ...]  # interface, bytes received, bytes sent


def read_cores(stat: str) -> tuple[Times, ...]:
    """Parses the times of the cores from /proc/stat."""
    cores: list[Times] = []
    for line in stat.splitlines():
        name, *columns = line.split() or [""]
        if name.startswith("cpu") and name != "cpu":
            times = [int(column) for column in columns[:_GUEST]]
            idle = sum(times[column] for column in _IDLE if column < len(times))
            cores.append((sum(times) - idle, sum(times)))
    return tuple(cores)


def read_memory(meminfo: str) -> int:
    """Computes the percentage of memory in use from /proc/meminfo."""
    amounts = {
        name: int(amount.split()[0])
        for name, colon, amount in (line.partition(":") for line in meminfo.splitlines())
        if colon
    }
    total = amounts.get("MemTotal", 0)
    if not total:
        return 0
    free = amounts.get("MemAvailable", amounts.get("MemFree", 0))
    return _percent(total - free, total)


def read_network(dev: str) -> tuple[tuple[str, int, int], ...]:
    """Parses the interfaces and their byte counts from /proc/net/dev."""
    network: list[tuple[str, int, int]] = []
    for line in dev.splitlines():
        name, colon, rest = line.partition(":")
        columns = rest.split()
        if colon and len(columns) >= 9:
            network.append((name.strip(), int(columns[0]), int(columns[8])))
    return tuple(network)


def sample(before: Reading, now: Reading) -> Monitoring:
    """Computes the load between two readings."""
    return Monitoring(
        _cpu_usage(before.cores, now.cores),
        now.mem_usage,
        tuple(name for name, _, _ in now.network),
        tuple(received for _, received, _ in now.network),
        tuple(sent for _, _, sent in now.network),
    )


def _cpu_usage(before: Sequence[Times], now: Sequence[Times]) -> tuple[int, ...]:
    if len(before) != len(now):  # a core was switched on or off: take the times since boot
        before = [(0, 0)] * len(now)
    return tuple(
        _percent(busy - busy_before, total - total_before)
        for (busy_before, total_before), (busy, total) in zip(before, now, strict=True)
    )


def _percent(part: int, whole: int) -> int:
    """A percentage; the kernel's counters may go back a little, so the result is clamped."""
    return min(max(round(100 * part / whole), 0), 100) if whole > 0 else 0
