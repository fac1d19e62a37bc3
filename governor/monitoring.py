"""How busy the machine is, from what the kernel writes about it; pure.

A sample is told in whole percents and cumulative bytes. Cpus are busy for a part of the time
between two readings, so a sample needs the reading before.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from rain.base.wire import Monitoring

_IDLE = (3, 4)  # the columns "idle" and "iowait"
_GUEST = 8  # from this column on, time is counted that is in earlier columns already

Times = tuple[int, int]
"""Of one core: the time that it was busy, and all time."""


@frozen
class Reading:
    """What was read at one moment."""

    cores: tuple[Times, ...]
    mem_usage: int
    network: tuple[tuple[str, int, int], ...]  # interface, bytes received, bytes sent


def read_cores(stat: str) -> tuple[Times, ...]:
    """The times of the cores from the text of /proc/stat."""
    cores: list[Times] = []
    for line in stat.splitlines():
        name, *columns = line.split() or [""]
        if name.startswith("cpu") and name != "cpu":
            times = [int(column) for column in columns[:_GUEST]]
            idle = sum(times[column] for column in _IDLE if column < len(times))
            cores.append((sum(times) - idle, sum(times)))
    return tuple(cores)


def read_memory(meminfo: str) -> int:
    """How many percent of the memory are in use, from the text of /proc/meminfo."""
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
    """The interfaces and their bytes from the text of /proc/net/dev."""
    network: list[tuple[str, int, int]] = []
    for line in dev.splitlines():
        name, colon, rest = line.partition(":")
        columns = rest.split()
        if colon and len(columns) >= 9:
            network.append((name.strip(), int(columns[0]), int(columns[8])))
    return tuple(network)


def sample(before: Reading, now: Reading) -> Monitoring:
    """What two readings say of the time between them."""
    return Monitoring(
        _cpu_usage(before.cores, now.cores),
        now.mem_usage,
        tuple(name for name, _, _ in now.network),
        tuple(received for _, received, _ in now.network),
        tuple(sent for _, _, sent in now.network),
    )


def _cpu_usage(before: Sequence[Times], now: Sequence[Times]) -> tuple[int, ...]:
    if len(before) != len(now):  # a core was switched on or off: its own times are not known
        before = [(0, 0)] * len(now)
    return tuple(
        _percent(busy - busy_before, total - total_before)
        for (busy_before, total_before), (busy, total) in zip(before, now, strict=True)
    )


def _percent(part: int, whole: int) -> int:
    """Also when the kernel's counters have gone back a little, which they do."""
    return min(max(round(100 * part / whole), 0), 100) if whole > 0 else 0
