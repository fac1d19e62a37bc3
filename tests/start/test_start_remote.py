"""A start on other hosts, which are all this machine here, is all or nothing too."""

import pytest
from attrs import evolve

from rain.base.errors import StartError
from rain.start.clusters import read_cluster
from rain.start.ending import ProcessEnding
from rain.start.governors import RemoteGovernors
from rain.start.start import start_cluster
from rain.start.stop import stop_cluster
from tests.start.world import ROOT, World


def test_governors_of_other_hosts_stay_when_the_sessions_have_ended(world: World) -> None:
    cluster = world.start_remote("alpha", "beta").cluster

    assert [(member.name, member.host) for member in cluster.members] == [
        ("server", ""),
        ("governor-0", "alpha"),
        ("governor-1", "beta"),
    ]
    assert world.left() == ["governor-0 pid", "governor-1 pid", "server pid"]
    assert cluster.members[1].mark.pid == world.notes("governor-0")["pid"]
    assert read_cluster(world.logs) == cluster


def test_a_remote_governor_runs_where_the_start_ran_after_the_commands_asked_for(
    world: World,
) -> None:
    world.start_remote("alpha", init='export FROM_INIT="it\'s"')

    notes = world.notes("governor-0")
    assert notes["folder"] == str(ROOT)
    assert notes["init"] == "it's"


def test_the_governors_of_all_hosts_are_stopped(world: World) -> None:
    cluster = world.start_remote("alpha", "beta", "alpha").cluster

    stopped = stop_cluster(cluster, world.index, 30.0)

    assert stopped.unreached == ()
    assert sorted(stopped.named(ProcessEnding.STOPPED)) == [
        "governor-0",
        "governor-1",
        "governor-2",
        "server",
    ]
    assert world.left() == []


def test_a_remote_governor_that_dies_is_told_with_its_log(world: World) -> None:
    with pytest.raises(StartError) as caught:
        world.start_remote("alpha", "beta", governor_1="dies")

    assert str(caught.value) == (
        "governor-1 on beta ended with status 3 before it was ready; its log"
        f" {world.logs}/governor-1.err ends with:\n  | port 7210 is in use"
    )
    assert world.left() == []


def test_a_remote_governor_that_is_killed_is_told_as_such(world: World) -> None:
    with pytest.raises(StartError, match="governor-0 on alpha was killed by SIGKILL"):
        world.start_remote("alpha", governor_0="crashes")


def test_a_remote_governor_that_is_never_ready_ends_the_start(world: World) -> None:
    with pytest.raises(StartError) as caught:
        world.start_remote("alpha", "beta", timeout=1.0, governor_1="silent")

    assert str(caught.value) == (
        "governor-1 was not ready within 1 seconds:"
        f" the log of governor-1 on beta is {world.logs}/governor-1.err"
    )
    assert world.left() == []


def test_a_host_that_cannot_be_reached_is_told_with_what_ssh_says(world: World) -> None:
    with pytest.raises(StartError) as caught:
        world.start_remote("alpha", "unreachable")

    assert "governor-1 on unreachable: the session of" in str(caught.value)
    assert "ended with status 255" in str(caught.value)
    assert "ends with:\n  | ssh: connect to host unreachable port 22: No" in str(caught.value)
    assert world.left() == []


def test_a_session_that_does_nothing_is_told_when_the_time_is_over(world: World) -> None:
    access = evolve(world.access(), ssh=("/bin/sh", "-c", "sleep 1000"))
    settings = world.settings(RemoteGovernors(("alpha",)))

    with pytest.raises(StartError, match=r"the session of /bin/sh has not reached alpha"):
        start_cluster(settings, access, 0.5, world.index)


def test_a_host_that_never_gets_to_the_governor_is_told_as_such(world: World) -> None:
    with pytest.raises(StartError, match="has not started governor-0 on alpha"):
        world.start_remote("alpha", timeout=0.5, init="echo wait >&2; sleep 1")


def test_commands_that_fail_before_a_governor_are_told(world: World) -> None:
    with pytest.raises(StartError, match="on alpha: the commands before the governor failed"):
        world.start_remote("alpha", init="cd /no/such/folder")


def test_a_way_to_hosts_that_is_no_program_is_named(world: World) -> None:
    access = evolve(world.access(), ssh=("/no/such/ssh",))

    with pytest.raises(StartError, match="governor-0 cannot be started: /no/such/ssh: No such"):
        start_cluster(world.settings(RemoteGovernors(("alpha",))), access, 30.0, world.index)
    assert world.left() == []


def test_a_host_that_cannot_be_reached_any_more_keeps_its_cluster_listed(world: World) -> None:
    cluster = world.start_remote("alpha").cluster
    away = evolve(cluster.members[1], host="unreachable")

    stopped = stop_cluster(evolve(cluster, members=(cluster.members[0], away)), world.index, 30.0)

    assert stopped.unreached == (
        (
            "governor-0 on unreachable may still run:"
            " ssh: connect to host unreachable port 22: No route to host"
        ),
    )
    assert len(list(world.index.folder.iterdir())) == 1


def test_a_cpu_is_reserved_on_the_machine_of_the_server(world: World) -> None:
    settings = evolve(world.settings(RemoteGovernors(("alpha",))), reserve_cpu=True)

    start_cluster(settings, world.access(), 30.0, world.index)

    assert "--cpus=-1" in world.notes("governor-0")["arguments"]
