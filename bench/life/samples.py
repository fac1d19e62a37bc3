"""What is looked at again and again: memory, descriptors, nodes and files of the daemons."""

from __future__ import annotations

import json
import os
import urllib.request
from collections.abc import Iterable
from pathlib import Path

from attrs import Factory, define, frozen

from bench.life.slope import Slope, fitted
from bench.processes import resident_bytes
from rain.daemon.user_key import user_key

KIBIBYTE = 1024

Looked = dict[str, float]


@frozen
class Limit:
    """What counts as growth, and how it is told."""

    unit: str
    each_thousand: float  # sessions


LIMITS = {
    "server: memory": Limit("KiB", 1024),
    "server: descriptors": Limit("", 2),
    "server: tasks": Limit("", 20),
    "server: objects": Limit("", 20),
    "governor: memory": Limit("KiB", 1024),
    "governor: descriptors": Limit("", 2),
    "governor: files in the store": Limit("", 20),
    "governor: files of logs": Limit("", 20),
    "journal": Limit("KiB", 4096),
}
"""Of each series: more than this for 1,000 sessions is a leak. 1 KiB for a session is what a few
forgotten small objects would take."""


@define
class Series:
    """What was seen, each time with the sessions that had ended by then."""

    sessions: list[float] = Factory(list)
    seen: dict[str, list[float]] = Factory(dict)

    def add(self, sessions: int, looked: dict[str, float]) -> None:
        self.sessions.append(float(sessions))
        for name, value in looked.items():
            self.seen.setdefault(name, []).append(value)

    def slopes(self) -> dict[str, Slope]:
        """The growth of each series for 1,000 sessions."""
        found: dict[str, Slope] = {}
        for name, seen in self.seen.items():
            slope = fitted([one / 1000 for one in self.sessions], seen)
            if slope is not None:
                found[name] = slope
        return found

    def leaks(self) -> list[str]:
        """What surely grows by more than its limit."""
        return [
            f"{name} grows by {slope.growth:.1f} {LIMITS[name].unit} for 1,000 sessions"
            for name, slope in self.slopes().items()
            if slope.is_above(LIMITS[name].each_thousand)
        ]

    def rows(self) -> list[str]:
        """The table."""
        slopes = self.slopes()
        lines = [f"{'':<30}{'least':>9}{'most':>9}{'last':>9}{'growth for 1,000 sessions':>32}"]
        for name, seen in self.seen.items():
            slope = slopes.get(name)
            grows = "" if slope is None else f"{slope.growth:.1f} +- {slope.bound:.1f}"
            unit = f" ({LIMITS[name].unit})" if LIMITS[name].unit else ""
            lines.append(
                f"{name + unit:<30}{min(seen):>9.0f}{max(seen):>9.0f}{seen[-1]:>9.0f}{grows:>32}"
            )
        return lines


def look(server: int, governor: int, work: Path, logs: Path, journal: Path, http: str) -> Looked:
    """Looks at a server and a governor, by their pids."""
    status = _status(http)
    return {
        "server: memory": resident_bytes(server) / KIBIBYTE,
        "server: descriptors": _descriptors(server),
        "server: tasks": status["tasks"],
        "server: objects": status["objects"],
        "governor: memory": resident_bytes(governor) / KIBIBYTE,
        "governor: descriptors": _descriptors(governor),
        "governor: files in the store": len(os.listdir(work / "data")),  # noqa: PTH208 # a number
        "governor: files of logs": sum(1 for _ in logs.rglob("*")),
        "journal": sum(_sizes(journal.rglob("*"))) / KIBIBYTE,
    }


def _descriptors(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))  # noqa: PTH208 # a number


def _sizes(paths: Iterable[Path]) -> Iterable[int]:
    for path in paths:
        try:
            yield path.stat().st_size
        except FileNotFoundError:  # it goes meanwhile
            continue


def _status(http: str) -> dict[str, float]:
    token = user_key()[0].http_token(int(http.rpartition(":")[2]))
    asked = urllib.request.Request(
        f"http://{http}/status", headers={"authorization": f"Bearer {token}"}
    )
    with urllib.request.urlopen(asked, timeout=60) as answer:
        found: dict[str, float] = json.load(answer)
        return found
