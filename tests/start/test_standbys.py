"""A cluster with a standby: how it is started, found, started again and ended."""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import evolve

from rain.base.errors import StartError
from rain.start.choice import find_cluster
from rain.start.clusters import ClusterDescription, read_cluster
from rain.start.governors import Governors, LocalGovernors, RemoteGovernors
from rain.start.options import StartOptions, StartRequest
from rain.start.plan import NONE, Settings
from rain.start.processes import is_running
from rain.start.restart import restart_server
from rain.start.standbys import plan_standby, with_journal
from rain.start.start import start_cluster
from rain.start.stop import stop_cluster
from tests.start.world import RAIN, World

BOTH = "127.0.0.1:7210,127.0.0.1:7211"


def settings(world: World, governors: Governors, host: str = "", **does: str) -> Settings:
    journal = world.folder / "journal"
    journal.mkdir(exist_ok=True)
    return evolve(world.settings(governors, **does), standby=host, journal=journal)


def start(world: World, host: str = "", init: str = "", **does: str) -> ClusterDescription:
    """Starts one governor, here or beside the standby, on its host."""
    governors = RemoteGovernors((host,)) if host else LocalGovernors((1,))
    asked = settings(world, governors, host, **does)
    return start_cluster(asked, world.access(init), 30.0, world.index).cluster


def arguments(world: World, name: str) -> list[str]:
    found: list[str] = world.notes(name)["arguments"][:-1]  # the last is a descriptor's number
    return found[found.index("rain") + 1 :]


def test_peers_are_told_both_addresses_and_both_servers_the_same_journal(world: World) -> None:
    cluster = start(world)

    journal = str(world.folder / "journal")
    for name in ("server", "standby"):
        told = arguments(world, name)
        assert told[told.index("--journal") + 1] == journal
        assert ("--standby" in told) == (name == "standby")
    assert arguments(world, "governor-0")[:2] == ["governor", BOTH]
    assert cluster.addresses == BOTH
    assert read_cluster(world.logs) == cluster
    assert world.left() == ["governor-0 pid", "server pid", "standby pid"]


def test_it_is_found_by_either_address_and_ends_as_a_whole(world: World) -> None:
    cluster = start(world)
    assert find_cluster(world.index, "7210") == find_cluster(world.index, "7211") == cluster

    stopped = stop_cluster(cluster, world.index, 30.0)

    assert [member.name for member, _ in stopped.endings] == ["standby", "server", "governor-0"]
    assert world.left() == []


def test_a_cluster_whose_server_has_died_still_runs(world: World) -> None:
    cluster = start(world)
    stop_cluster(evolve(cluster, standby=None, members=cluster.members[:1]), world.index, 30.0)
    world.index.add(cluster)

    assert cluster.has_server
    assert find_cluster(world.index, "") == cluster


def test_both_are_started_again_at_their_addresses_and_either_may_lead(world: World) -> None:
    cluster = start(world)

    again = restart_server(cluster, 30.0, world.index).cluster

    assert again.addresses == BOTH
    assert not any(is_running(server.mark) for server in cluster.servers)
    assert all(is_running(server.mark) for server in again.servers)
    for name, address in (("server", "127.0.0.1:7210"), ("standby", "127.0.0.1:7211")):
        told = arguments(world, name)
        assert told[told.index("--listen") + 1] == address
        assert "--standby" in told
    assert read_cluster(world.logs) == again


def test_a_standby_that_dies_ends_the_whole_start(world: World) -> None:
    with pytest.raises(StartError, match="standby ended with status 3 before it was ready"):
        start(world, standby="dies")

    assert world.left() == []


def test_a_standby_on_another_host_has_the_port_of_the_server(world: World) -> None:
    cluster = start(world, "alpha")

    assert cluster.standby is not None
    assert (cluster.standby.host, cluster.standby.address) == ("alpha", "alpha:7210")
    told = arguments(world, "standby")
    assert told[told.index("--listen") + 1] == "0.0.0.0:7210"
    assert arguments(world, "governor-0")[1].endswith(",alpha:7210")
    assert list((world.folder / "journal").iterdir()) == []  # what was looked for is gone
    stop_cluster(cluster, world.index, 30.0)
    assert world.left() == []


def test_a_host_that_does_not_share_the_journal_is_refused(world: World) -> None:
    """There the journal is another folder: it has not what was put into this one."""
    hide = f"rm -f '{world.folder}/journal/'shared-*"

    with pytest.raises(StartError, match="is not on this host: a standby needs one in a folder"):
        start(world, "alpha", hide)

    assert world.left() == []


def test_without_a_journal_nothing_is_started(world: World) -> None:
    asked = evolve(settings(world, LocalGovernors((1,))), journal=NONE)

    with pytest.raises(StartError, match="a standby reads the journal of the server"):
        start_cluster(asked, world.access(), 30.0, world.index)
    with pytest.raises(StartError, match="a standby reads the journal of the server"):
        with_journal(evolve(asked, journal=None, listen_port=0))

    assert world.left() == []


def test_the_usual_journal_is_that_of_the_port_of_the_server(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    asked = Settings(LocalGovernors((1,)), RAIN, tmp_path, standby="", listen_port=7300)

    journal = with_journal(asked).journal

    assert journal is not None
    assert journal.name.endswith("-7300")
    assert with_journal(evolve(asked, work_folder=tmp_path)).journal == tmp_path / "journal"


def test_beside_the_server_it_takes_free_ports_and_a_work_folder_of_its_own(tmp_path: Path) -> None:
    asked = Settings(
        LocalGovernors((1,)),
        RAIN,
        tmp_path,
        standby="",
        http_listen="10.0.0.1:7222",
        work_folder=tmp_path / "work",
    )

    told = " ".join(plan_standby(asked, 0).arguments)

    assert "--listen 127.0.0.1:0 " in told
    assert "--http-listen 10.0.0.1:0 " in told
    assert f"--workdir {tmp_path}/work/standby " in told


def test_on_another_host_it_listens_at_no_address_of_this_one(tmp_path: Path) -> None:
    asked = Settings(
        RemoteGovernors(("alpha",)),
        RAIN,
        tmp_path,
        standby="beta",
        listen_host="10.0.0.1",
        http_listen="10.0.0.1:7222",
    )

    told = " ".join(plan_standby(asked, 7210).arguments)

    assert "--listen 0.0.0.0:7210 --http-listen 0.0.0.0:7222 " in told
    assert "10.0.0.1" not in told
    assert "--http-host beta " in told  # as browsers are told to call it


@pytest.mark.parametrize(("http", "said"), [("", ()), ("none", ("--http-listen none ",))])
def test_it_serves_http_where_the_server_does(
    http: str, said: tuple[str, ...], tmp_path: Path
) -> None:
    for standby in ("", "beta"):
        asked = Settings(LocalGovernors((1,)), RAIN, tmp_path, standby=standby, http_listen=http)
        told = " ".join(plan_standby(asked, 7210).arguments)
        assert ("--http-listen" in told) == bool(said)
        assert all(part in told for part in said)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (
            StartOptions(standby=True, standby_host="b"),
            "--standby is on this machine, and --standby-host on another one",
        ),
        (StartOptions(standby_host="b"), "with governors on this machine alone, use --standby"),
    ],
)
def test_what_cannot_be_meant_is_refused(options: StartOptions, why: str) -> None:
    with pytest.raises(StartError, match=why):
        StartRequest(options, LocalGovernors((1,))).start()
