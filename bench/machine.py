"""Describes the machine of the measurements."""

import os
import platform
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def processor_name(cpuinfo: str) -> str:
    """The model name in /proc/cpuinfo, or else the name from `platform`."""
    for line in cpuinfo.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.machine()


def versions(distributions: Iterable[str]) -> dict[str, str]:
    """The versions of the installed distributions."""
    found: dict[str, str] = {}
    for name in distributions:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue  # not installed
    return found


def describe_machine(distributions: Iterable[str]) -> dict[str, object]:
    cpuinfo = Path("/proc/cpuinfo")
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "processor": processor_name(cpuinfo.read_text() if cpuinfo.exists() else ""),
        "cpus": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "memory_gib": round(pages / 2**30, 1),
        "system": platform.platform(),
        "python": platform.python_version(),
        "versions": versions(distributions),
    }
