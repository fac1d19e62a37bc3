"""Takes one governor out of a cluster: it drains, and ends when nothing is lost with it."""

from __future__ import annotations

from rain.base.errors import StartError
from rain.start.choice import is_address_of
from rain.start.clusters import ClusterDescription, StartedDaemon
from rain.start.ending import ProcessEnding, end_processes
from rain.start.stop import JOURNEY, RemoteStop


def governor_of(cluster: ClusterDescription, wanted: str) -> StartedDaemon:
    """The governor of a cluster that a user means: by its name or by its address."""
    governors = cluster.members[1:]
    found = [one for one in governors if wanted == one.name or is_address_of(one.address, wanted)]
    if len(found) == 1:
        return found[0]
    known = "".join(f"\n  {one.name}  {one.address}  {one.host}".rstrip() for one in governors)
    what = "several governors" if found else "no governor"
    raise StartError(f"{what} of the cluster at {cluster.address} can be meant by {wanted}:{known}")


def drain_governor(
    cluster: ClusterDescription, governor: StartedDaemon, grace: float
) -> ProcessEnding:
    """Lets a governor drain and end, and kills it if it has not ended in time.

    Returns how it has ended.
    """
    if not governor.host:
        (ending,) = end_processes([governor.mark], grace)
        return ending
    away = RemoteStop(cluster.way_to(governor), governor.host, [governor], grace)
    endings = away.endings(grace + JOURNEY)
    if away.trouble:
        raise StartError(away.trouble)
    ((_, ending),) = endings
    return ending
