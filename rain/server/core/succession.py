"""What the servers of one cluster hand on, one after the other, by the journal."""

from __future__ import annotations

from attrs import define

CLUSTER_BYTES = 16
"""How long the name of a cluster is."""


@define(eq=False)
class Succession:
    """What a server has to know of those before it, besides the graph."""

    cluster: bytes = b""  # what clients know it by; the same when the server comes back
    generation: int = 0  # of the lease with which the server leads the cluster
    last_client: int = 0  # the largest numbers that earlier servers have used
    last_request: int = 0

    def name_cluster(self, name: bytes) -> bytes:
        """Takes this name if the cluster has none; returns the one that it has."""
        self.cluster = self.cluster or name
        return self.cluster
