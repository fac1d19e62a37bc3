"""Starts a local cluster."""

from __future__ import annotations

from rain.common.errors import RainException
from rain.governor.machine.budget import DETECT
from rain.governor.machine.detecting import Machine
from rain.governor.machine.offer import MachineShare, read_offer
from rain.local.cluster import HereCluster

CPUS = 4
"""Unless somebody says how many: the same on every machine, so that programs run alike."""


def start_here(cpus: int | None) -> HereCluster:
    """A cluster in this process, with one governor that has as many cpus."""
    if cpus is not None and cpus < 1:
        raise RainException("a local cluster needs at least one cpu")
    machine = Machine.this()
    offer = read_offer(
        CPUS if cpus is None else cpus, machine.memory(), DETECT, (), machine, MachineShare()
    )
    return HereCluster(offer)
