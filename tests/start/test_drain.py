"""`rain drain` ends one governor of a cluster, wherever it runs, and lets the others be."""

from __future__ import annotations

import pytest

from rain.base.errors import StartError
from rain.start.clusters import read_cluster
from rain.start.drain import drain_governor, governor_of
from rain.start.ending import ProcessEnding
from tests.start.test_commands import rain, start
from tests.start.world import World


def test_a_drain_ends_the_governor_that_was_named_and_no_other(world: World) -> None:
    rain(world, *start(world, "--local-governors=[1,1]"))

    drained = rain(world, "drain", "governor-1")
    again = rain(world, "drain", "governor-1")

    assert drained.returncode == 0
    assert drained.stdout.startswith("governor-1 at ")
    assert drained.stdout.endswith(" has left the cluster\n")
    assert world.left() == ["governor-0 pid", "server pid"]
    assert again.returncode == 1
    assert again.stderr.endswith("had ended before\n")


def test_a_governor_that_does_not_end_is_killed_and_that_is_said(world: World) -> None:
    rain(world, *start(world, "--local-governors=[1,1]", **{"governor-0": "stubborn"}))
    drained = rain(world, "drain", "governor-0", "--grace", "0.1")
    assert drained.returncode == 1
    assert drained.stderr.endswith("was killed: it has not ended within 0.1 seconds\n")
    assert world.left() == ["governor-1 pid", "server pid"]


def test_a_governor_of_another_host_is_ended_there(world: World) -> None:
    world.start_remote("first", "second")
    cluster = read_cluster(world.logs)
    assert cluster is not None
    governor = governor_of(cluster, cluster.members[2].name)
    assert governor.host == "second"

    assert drain_governor(cluster, governor, 10.0) is ProcessEnding.STOPPED

    assert world.left() == ["governor-0 pid", "server pid"]


@pytest.mark.parametrize(("wanted", "what"), [("governor-7", "no"), ("127.0.0.1", "several")])
def test_a_governor_that_is_not_the_only_one_is_refused_with_all_that_there_are(
    world: World, wanted: str, what: str
) -> None:
    world.start(2)
    cluster = read_cluster(world.logs)
    assert cluster is not None
    with pytest.raises(StartError, match=rf"{what} governors? .* by {wanted}:\n  governor-0  127"):
        governor_of(cluster, wanted)
