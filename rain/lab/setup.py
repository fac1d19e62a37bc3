"""The setup of a run in virtual time."""

from __future__ import annotations

from attrs import frozen

from rain.lab.estimates import Expected
from rain.lab.timeline import FOREVER
from rain.lab.workload import NO_OVERHEADS, Cluster, Overheads, Workload
from rain.server.core.reactor_settings import ReactorSettings

PATIENT = ReactorSettings(governor_silence=FOREVER)
"""Governors of the lab send no heartbeats."""


@frozen
class Setup:
    """Everything that a run depends on except the scheduler."""

    workload: Workload
    cluster: Cluster
    expected: Expected
    overheads: Overheads = NO_OVERHEADS
    checking: bool = False  # run both consistency checkers after every turn
    settings: ReactorSettings = PATIENT
