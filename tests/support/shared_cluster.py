"""One embedded cluster for all examples of a test module, each of which makes a client."""

from collections.abc import Callable

from rain.client.local import LocalCluster


class SharedCluster:
    """The cluster of all examples, as a client sees it that would stop it at its end."""

    def __init__(self, cluster: LocalCluster) -> None:
        self.host = cluster.host
        self.port = cluster.port
        self.secret = cluster.secret

    def why_lost(self) -> str:
        return ""

    def watch(self, give_up: Callable[[], object]) -> None:
        """Nobody dies here."""

    def close(self) -> None:
        """The other examples still need it."""
