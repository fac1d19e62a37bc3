"""Clusters are remembered until they are over, and found by what a user says of them."""

import json
import os
import socket
import tempfile
from pathlib import Path

import pytest
from attrs import evolve

from rain.base.errors import StartError
from rain.daemon.user_key import user_key
from rain.start import processes
from rain.start.choice import find_cluster, is_address_of, server_of, serves_http
from rain.start.clusters import (
    FILE,
    ClusterDescription,
    GovernorOptions,
    Index,
    JobEntry,
    StartedDaemon,
    StartedElsewhere,
    changing,
    parse_cluster,
    read_cluster,
    spell_cluster,
    write_cluster,
)
from rain.start.processes import ProcessMark
from rain.start.remote import RemoteAccess


def own_mark() -> ProcessMark:
    """A process that certainly runs: the one of the tests."""
    mark = processes.mark(os.getpid())
    assert mark is not None
    return mark


def running(folder: Path, port: int = 7210) -> ClusterDescription:
    folder.mkdir(exist_ok=True)
    cluster = ClusterDescription(
        folder,
        socket.gethostname(),
        f"127.0.0.1:{port}",
        "127.0.0.1:7222",
        (
            StartedDaemon("server", f"127.0.0.1:{port}", own_mark()),
            StartedDaemon("governor-0", "10.0.0.2:1", ProcessMark(1, 2, "there"), "alpha"),
            StartedDaemon("governor-1", "10.0.0.2:2", ProcessMark(2, 2, "there"), "alpha"),
        ),
        RemoteAccess(("ssh", "-x"), Path("/home"), "module load x", ("python", "-m", "rain")),
    )
    write_cluster(cluster)
    return cluster


def over(folder: Path) -> ClusterDescription:
    cluster = running(folder)
    server = evolve(cluster.members[0], mark=ProcessMark(1, 1, "earlier"))
    ended = evolve(cluster, members=(server, *cluster.members[1:]))
    write_cluster(ended)
    return ended


def test_what_was_added_is_read_as_it_was_written(tmp_path: Path) -> None:
    cluster = running(tmp_path)
    jump = RemoteAccess(("ssh", "-J", "login"), Path("/shared"), "module load x", ("rain",))
    added = evolve(cluster.members[1], name="governor-2", host="gamma", access=jump)
    written = evolve(
        cluster,
        members=(*cluster.members, added),
        jobs=(JobEntry("governor-3", "17", "slurm", Path("/shared/logs")),),
        alike=GovernorOptions("/executors.toml", "50G", "/scratch"),
    )
    write_cluster(written)

    assert read_cluster(tmp_path) == written
    assert [way for host, way in written.elsewhere() if host == "gamma"] == [jump]


def test_a_cluster_is_changed_by_one_command_at_a_time(tmp_path: Path) -> None:
    running(tmp_path)

    with (
        changing(tmp_path),
        pytest.raises(StartError, match="another command changes the cluster"),
        changing(tmp_path),
    ):
        pass
    with changing(tmp_path) as cluster:
        assert cluster == read_cluster(tmp_path)


@pytest.fixture
def index(tmp_path: Path) -> Index:
    return Index(tmp_path / "index")


def test_a_cluster_is_read_as_it_was_written(tmp_path: Path) -> None:
    cluster = running(tmp_path)

    assert read_cluster(tmp_path) == cluster
    away = cluster.elsewhere().items()
    assert [(host, [member.name for member in members]) for (host, _), members in away] == [
        ("alpha", ["governor-0", "governor-1"])
    ]


@pytest.mark.parametrize(
    ("part", "damaged"),
    [('"members"', '"people"'), (":there", ""), ("{", "[")],
)
def test_a_damaged_file_is_named(tmp_path: Path, part: str, damaged: str) -> None:
    text = spell_cluster(running(tmp_path)).replace(part, damaged)

    with pytest.raises(StartError, match=f"{FILE} does not describe a cluster"):
        parse_cluster(text, tmp_path / FILE)


def test_a_file_that_holds_something_else_is_named(tmp_path: Path) -> None:
    with pytest.raises(StartError, match=f"{FILE} does not describe a cluster"):
        parse_cluster("[]", tmp_path / FILE)


def test_a_file_of_another_format_is_named(tmp_path: Path) -> None:
    text = spell_cluster(running(tmp_path)).replace('"format": 1', '"format": 2')

    with pytest.raises(StartError, match="written by another version"):
        parse_cluster(text, tmp_path / FILE)


def test_a_folder_without_a_cluster_has_none(tmp_path: Path) -> None:
    assert read_cluster(tmp_path) is None
    assert read_cluster(tmp_path / "nowhere") is None


def test_the_index_knows_what_runs_and_forgets_what_is_over(tmp_path: Path, index: Index) -> None:
    cluster, ended = running(tmp_path / "one"), over(tmp_path / "two")
    index.add(cluster)
    index.add(ended)

    assert index.look() == ([cluster], [])
    assert len(list(index.folder.iterdir())) == 1

    index.remove(cluster)
    assert index.look() == ([], [])


def test_a_cluster_whose_log_folder_is_gone_is_forgotten(tmp_path: Path, index: Index) -> None:
    cluster = running(tmp_path / "one")
    index.add(cluster)
    (cluster.log_folder / FILE).unlink()

    assert index.look() == ([], [])


def test_a_cluster_of_another_machine_is_shown_and_kept(tmp_path: Path, index: Index) -> None:
    index.add(evolve(running(tmp_path / "one"), machine="login2"))

    for _ in range(2):
        assert index.look() == ([], [StartedElsewhere("login2", tmp_path / "one")])
    with pytest.raises(StartError, match="no cluster of yours runs on this machine; these were"):
        find_cluster(index, "")


def test_a_cluster_of_an_earlier_boot_is_forgotten(tmp_path: Path, index: Index) -> None:
    index.add(running(tmp_path / "one"))
    [file] = index.folder.iterdir()
    file.write_text(json.dumps({**json.loads(file.read_text()), "boot": "earlier"}))

    assert index.look() == ([], [])
    assert not file.exists()


def test_the_user_s_state_folder_holds_the_index(tmp_path: Path) -> None:
    home, state = {"HOME": str(tmp_path)}, {"XDG_STATE_HOME": str(tmp_path / "state")}

    assert Index.of_user(home).folder == tmp_path / ".local/state/rain/clusters"
    assert Index.of_user(state).folder == tmp_path / "state/rain/clusters"


def test_without_a_home_that_can_be_used_the_index_is_beside_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "file").touch()
    environment = {"HOME": str(tmp_path / "file")}
    cluster = running(tmp_path / "logs")

    Index.of_user(environment).add(cluster)

    assert Index.of_user(environment).look() == ([cluster], [])
    _, key = user_key(environment)
    assert Index.of_user(environment).folder.parent == key.parent


def test_the_only_cluster_needs_no_name(tmp_path: Path, index: Index) -> None:
    cluster = running(tmp_path / "one")
    index.add(cluster)

    assert find_cluster(index, "") == cluster


def test_several_clusters_are_listed(tmp_path: Path, index: Index) -> None:
    for name, port in (("one", 7210), ("two", 7310)):
        index.add(evolve(running(tmp_path / name, port), machine=socket.gethostname()))

    # Both have the same process in this test, and so one entry; a second name makes it two.
    entry = next(index.folder.iterdir())
    (index.folder / "other.json").write_text(
        entry.read_text().replace(str(tmp_path / "two"), str(tmp_path / "one"))
    )

    with pytest.raises(StartError, match="several clusters") as caught:
        find_cluster(index, "")
    assert f"127.0.0.1:7210  2 governors  {tmp_path / 'one'}" in str(caught.value)
    assert f"127.0.0.1:7310  2 governors  {tmp_path / 'two'}" in str(caught.value)
    assert find_cluster(index, "7310").log_folder == tmp_path / "two"


def test_a_cluster_is_found_by_its_log_folder(tmp_path: Path, index: Index) -> None:
    cluster = running(tmp_path / "one")

    folder = str(tmp_path / "one")
    assert find_cluster(index, folder) == cluster
    assert server_of(index, folder) == cluster
    assert serves_http(index, folder) == cluster


def test_nothing_running_is_said_in_one_line(index: Index) -> None:
    with pytest.raises(StartError, match=r"^no cluster of yours runs on this machine$"):
        find_cluster(index, "")
    with pytest.raises(StartError, match=r"^no cluster of yours runs at 7210$"):
        find_cluster(index, "7210")


def test_a_folder_that_is_not_one_of_a_running_cluster_is_refused(
    tmp_path: Path, index: Index
) -> None:
    ended = over(tmp_path / "over")
    write_cluster(evolve(ended, members=ended.members[:1]))
    write_cluster(evolve(running(tmp_path / "away"), machine="login2"))

    for find in (find_cluster, server_of, serves_http):
        with pytest.raises(StartError, match="no cluster was started with its logs in"):
            find(index, str(tmp_path / "nothing"))
        with pytest.raises(StartError, match="over does not run any more"):
            find(index, str(tmp_path / "over"))
        with pytest.raises(StartError, match="away was started on login2"):
            find(index, str(tmp_path / "away"))


def test_the_name_of_a_folder_without_a_cluster_is_not_taken_for_a_host(
    tmp_path: Path, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "7210").mkdir()
    monkeypatch.chdir(tmp_path)
    for find in (find_cluster, server_of, serves_http):
        with pytest.raises(StartError, match=r"run is a folder here, .*, or write run:7210 if"):
            find(index, "run")
    assert server_of(index, "run:7210") is None
    assert server_of(index, "7210") is None  # a port


def test_a_cluster_that_serves_no_http_has_none_to_be_asked(tmp_path: Path, index: Index) -> None:
    write_cluster(evolve(running(tmp_path / "one"), http=""))

    with pytest.raises(StartError, match="one serves no HTTP"):
        serves_http(index, str(tmp_path / "one"))


def test_a_cluster_whose_server_has_gone_may_have_governors_on_other_hosts(
    tmp_path: Path, index: Index
) -> None:
    ended = over(tmp_path / "over")

    assert find_cluster(index, str(tmp_path / "over")) == ended


@pytest.mark.parametrize(
    "wanted", ["7210", "127.0.0.1", "127.0.0.1:7210", "localhost", "localhost:7210"]
)
def test_an_address_may_be_a_port_a_host_or_both(wanted: str) -> None:
    assert is_address_of("127.0.0.1:7210", wanted)


@pytest.mark.parametrize("wanted", ["7211", "node", "127.0.0.1:7211", "node:7210"])
def test_another_address_is_another_cluster(wanted: str) -> None:
    assert not is_address_of("127.0.0.1:7210", wanted)
