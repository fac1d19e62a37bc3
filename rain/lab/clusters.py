"""Parses descriptions of clusters on the command line: `8x4` means 8 governors with 4 cpus each.

`8x4+2x16` has two kinds of governors, and `4x8:gpus=2:memory=4GiB` gives each more resources.
"""

from __future__ import annotations

import re

from rain.base.resources import Resources, checked_amount
from rain.lab.workload import MIB, Cluster, LabError

_PART = re.compile(r"([1-9][0-9]*)x([1-9][0-9]*)((?::[^:=]+=[^:=]+)*)")


def read_cluster(text: str) -> tuple[Resources, ...]:
    """The governors that a text describes."""
    governors: list[Resources] = []
    for part in text.split("+"):
        found = _PART.fullmatch(part.strip())
        if found is None:
            raise LabError(
                f"{part!r} is not a cluster: write GOVERNORSxCPUS, for instance 8x4,"
                " and join several sorts with +"
            )
        try:
            amounts = {"cpus": int(found[2])} | _others(found[3])
        except ValueError as error:
            raise LabError(f"the cluster {part!r}: {error}") from None
        governors += [Resources.of(amounts)] * int(found[1])
    return tuple(governors)


def _others(text: str) -> dict[str, int]:
    amounts: dict[str, int] = {}
    for pair in text.split(":")[1:]:
        name, _, amount = pair.partition("=")
        amounts[name] = checked_amount(name, int(amount) if amount.isdigit() else amount)
    return amounts


def make_cluster(text: str, bandwidth: float) -> Cluster:
    """A cluster from the command line; `bandwidth` is in MiB per second."""
    return Cluster(f"{text} {bandwidth:g} MiB/s", read_cluster(text), bandwidth * MIB)
