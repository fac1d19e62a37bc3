"""Both ways to have a cluster: as processes of this machine, and in this process."""

from __future__ import annotations

import pytest

from rain.client import Client

MODES = ("processes", "local")

in_processes = pytest.mark.parametrize("client", ["processes"], indirect=True)
"""For what can only be so with processes: things that run beside each other, or die, or are two."""


def client_in(mode: str, cpus: int, governors: int = 1) -> Client:
    """A client with a cluster of its own; a local one has only one governor."""
    if mode == "local":
        return Client(local=True, cpus=cpus)
    return Client(cpus=cpus, governors=governors)
