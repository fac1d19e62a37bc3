"""A start on this machine is all or nothing."""

import os
import shlex
from pathlib import Path

import pytest
from attrs import evolve

from rain.base.errors import StartError
from rain.start.choice import find_cluster
from rain.start.clusters import Index, read_cluster
from rain.start.ending import ProcessEnding
from rain.start.governors import LocalGovernors
from rain.start.interrupts import InterruptedStartError
from rain.start.start import start_cluster
from rain.start.stop import stop_cluster
from tests.start.world import World


@pytest.fixture(params=[False, True], ids=["programs", "copies"])
def copied(request: pytest.FixtureRequest) -> bool:
    """All of this holds for both."""
    return bool(request.param)


def test_a_started_cluster_runs_and_is_remembered(world: World) -> None:
    started = world.start(3)

    cluster = started.cluster
    assert [member.name for member in cluster.members] == [
        "server",
        "governor-0",
        "governor-1",
        "governor-2",
    ]
    assert (cluster.address, cluster.http) == ("127.0.0.1:7210", "127.0.0.1:7222")
    assert world.left() == ["governor-0 pid", "governor-1 pid", "governor-2 pid", "server pid"]
    assert read_cluster(world.logs) == cluster
    assert find_cluster(world.index, "") == cluster
    assert started.unlisted == ""


def test_daemons_live_in_sessions_of_their_own(world: World) -> None:
    world.start(1)

    for name in ("server", "governor-0"):
        pid = world.notes(name)["pid"]
        assert os.getsid(pid) == pid


def test_a_stopped_cluster_leaves_nothing_and_is_forgotten(world: World) -> None:
    cluster = world.start(2).cluster

    stopped = stop_cluster(cluster, world.index, 30.0)

    assert stopped.named(ProcessEnding.STOPPED) == ["server", "governor-0", "governor-1"]
    assert world.left() == []
    assert world.index.look() == ([], [])


def test_stopping_says_who_had_gone_and_who_had_to_be_killed(world: World) -> None:
    cluster = world.start(2, governor_1="stubborn").cluster
    os.kill(world.notes("governor-0")["pid"], 9)
    os.waitid(os.P_PID, world.notes("governor-0")["pid"], os.WEXITED | os.WNOWAIT)

    stopped = stop_cluster(cluster, world.index, 0.1)

    assert stopped.gone() == ["governor-0"]
    assert stopped.named(ProcessEnding.KILLED) == ["governor-1"]


def test_a_server_that_dies_is_told_with_its_log(world: World) -> None:
    with pytest.raises(StartError) as caught:
        world.start(1, server="dies")

    assert str(caught.value) == (
        f"server ended with status 3 before it was ready; its log {world.logs}/server.err"
        " ends with:\n  | port 7210 is in use"
    )
    assert not list(world.logs.glob("governor-*"))


@pytest.mark.parametrize("host", ["", "localhost", "0.0.0.0"])
def test_a_second_start_names_the_cluster_that_runs_already(world: World, host: str) -> None:
    cluster = world.start(1).cluster
    again = evolve(
        world.settings(LocalGovernors((1,))), listen_host=host, log_folder=world.folder / "again"
    )

    with pytest.raises(StartError) as caught:
        start_cluster(again, world.access(), 30.0, world.index)

    assert str(caught.value) == (
        f"a cluster of yours runs at {cluster.address} already: end it with 'rain stop"
        f" {shlex.quote(str(world.logs))}', or choose another port with --listen"
    )
    assert not again.log_folder.exists()


def test_a_work_folder_that_cannot_be_made_is_named(world: World) -> None:
    (world.folder / "file").touch()
    settings = evolve(
        world.settings(LocalGovernors((1,))), work_folder=world.folder / "file" / "work"
    )

    with pytest.raises(StartError) as caught:
        start_cluster(settings, world.access(), 30.0, world.index)

    assert str(caught.value) == (
        f"the work folder {world.folder}/file/work cannot be made: Not a directory; choose another"
        " one with --workdir"
    )


def test_a_governor_that_dies_ends_the_whole_start(world: World) -> None:
    with pytest.raises(StartError, match="governor-1 ended with status 3"):
        world.start(3, governor_1="dies")

    assert world.left() == []
    assert read_cluster(world.logs) is None


def test_each_governor_writes_to_files_of_its_own(world: World) -> None:
    with pytest.raises(StartError, match=r"governor-1\.err ends with:\n  \| port 7210 is in use"):
        world.start(3, governor_1="dies")

    assert (world.logs / "governor-0.err").read_text() == ""
    assert (world.logs / "governor-2.err").read_text() == ""


def test_a_signal_in_the_middle_ends_all_that_was_started(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STARTER", str(os.getpid()))

    with pytest.raises(InterruptedStartError, match="interrupted by SIGINT"):
        world.start(3, governor_1="interrupts")

    assert world.left() == []


def test_a_death_by_a_signal_is_told_as_one(world: World) -> None:
    with pytest.raises(StartError, match=r"server was killed by SIGKILL .* is empty"):
        world.start(1, server="crashes")


def test_a_governor_that_dies_when_it_was_ready_already_ends_the_start(world: World) -> None:
    with pytest.raises(StartError, match="governor-0 ended with status 0"):
        world.start(2, governor_0="dies later", governor_1="silent")

    assert world.left() == []


def test_what_is_never_ready_is_told_when_the_time_is_over(world: World) -> None:
    with pytest.raises(StartError) as caught:
        world.start(5, 0.5, governor_0="silent", governor_3="silent")

    assert str(caught.value) == (
        "governor-0, governor-3 were not ready within 0.5 seconds:"
        f" the log of governor-0, {world.logs}/governor-0.err, is empty"
    )
    assert world.left() == []


def test_a_prefix_that_closes_descriptors_is_suspected(world: World) -> None:
    with pytest.raises(StartError, match="it cannot report, because a --runprefix must"):
        world.start(1, 0.5, server="mute")


def test_the_children_of_a_daemon_end_with_a_failed_start(world: World) -> None:
    with pytest.raises(StartError, match="governor-1 ended"):
        world.start(2, governor_0="forks", governor_1="dies")

    assert world.left() == []


def test_a_prefix_that_is_no_program_is_named(world: World) -> None:
    settings = evolve(world.settings(LocalGovernors((1,))), run_prefix=("/no/such/program",))

    with pytest.raises(StartError, match="server cannot be started: /no/such/program: No such"):
        start_cluster(settings, world.access(), 30.0, world.index)


def test_a_log_folder_that_cannot_be_made_is_named(world: World, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    settings = evolve(world.settings(LocalGovernors((1,))), log_folder=tmp_path / "file" / "logs")

    with pytest.raises(StartError, match=r"the log folder .* cannot be written: Not a directory"):
        start_cluster(settings, world.access(), 30.0, world.index)


def test_the_logs_of_a_running_cluster_are_not_taken_over(world: World) -> None:
    world.start(1)
    elsewhere = evolve(world.settings(LocalGovernors((1,))), listen_port=7211)

    with pytest.raises(StartError, match="still runs: end it with 'rain stop"):
        start_cluster(elsewhere, world.access(), 30.0, world.index)
    assert world.left() == ["governor-0 pid", "server pid"]


def test_the_logs_of_a_cluster_that_is_over_may_be_used_again(world: World) -> None:
    stop_cluster(world.start(1).cluster, world.index, 30.0)

    world.start(1)


def test_a_cluster_that_cannot_be_listed_runs_all_the_same(world: World, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    settings = world.settings(LocalGovernors((1,)))

    started = start_cluster(settings, world.access(), 30.0, Index(tmp_path / "file" / "index"))

    assert "cannot be written: Not a directory" in started.unlisted
    assert find_cluster(world.index, str(world.logs)) == started.cluster


def test_governors_get_work_folders_below_the_one_that_was_asked_for(
    world: World, tmp_path: Path
) -> None:
    work = tmp_path / "not" / "yet"
    settings = evolve(world.settings(LocalGovernors((1,))), work_folder=work)

    start_cluster(settings, world.access(), 30.0, world.index)

    arguments = world.notes("governor-0")["arguments"]
    assert arguments[arguments.index("--workdir") + 1] == str(work / "governor-0")
    assert work.is_dir()  # the governor makes its own
    assert not (work / "governor-0").exists()


def test_no_descriptor_is_left_open(world: World) -> None:
    before = set(Path("/proc/self/fd").iterdir())

    stop_cluster(world.start(2).cluster, world.index, 30.0)
    with pytest.raises(StartError):
        world.start(2, governor_1="dies")

    assert set(Path("/proc/self/fd").iterdir()) == before
