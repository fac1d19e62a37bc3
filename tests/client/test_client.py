"""Spec 1.4: the client."""

import gc
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from rain.base.address import spell_address
from rain.client import Client, RainException, blob, remote, reports
from rain.client.rpc.common import DataObjectState, TaskState
from rain.common import ID
from tests.client.fake import FakeConnection, World


@remote()
def work(ctx: object, value: object = None) -> object:
    return value


def test_a_session_has_a_name_that_becomes_a_text(here: World) -> None:
    session = here.client.new_session(123)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType] # as some programs do

    assert here.server.sessions[session.session_id] == "123"
    assert session.spec.name == "123"
    assert here.client.new_session().spec.name == "Unnamed Session"


@pytest.mark.parametrize("port", ["no port", 0, 65536, "-1"])
def test_a_port_is_a_number_that_can_be_one(port: int | str) -> None:
    with pytest.raises(RainException, match="is not a port"):
        Client("localhost", port)


@pytest.mark.parametrize(
    ("address", "where"),
    [
        ("127.0.0.1:1", "127.0.0.1:1"),
        ("[::1]:1", "[::1]:1"),
        ("::1", "[::1]:7210"),
        ("one:1, two,[::1]:3", "one:1,two:7210,[::1]:3"),
        (["one", "two:2"], "one:7210,two:2"),
    ],
)
def test_an_address_may_have_its_port_and_standbys(
    monkeypatch: pytest.MonkeyPatch, address: str | list[str], where: str
) -> None:
    connection = FakeConnection()
    dialled: list[tuple[str, int]] = []

    def connect(addresses: Sequence[tuple[str, int]], *_: object, **__: object) -> FakeConnection:
        dialled.extend(addresses)
        return connection

    monkeypatch.setattr("rain.client.reaching.cluster.connect", connect)
    client = Client(address, insecure=True)

    assert ",".join(spell_address(*place) for place in dialled) == where
    assert client.address == connection.address


def test_an_empty_list_of_addresses_is_refused_by_name() -> None:
    with pytest.raises(RainException, match="the list of addresses is empty"):
        Client([])


def test_a_port_alone_is_no_address() -> None:
    with pytest.raises(
        RainException, match=r'the address is 7210; write Client\("localhost", 7210'
    ):
        Client(7210)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType] # as newcomers do
    with pytest.raises(RainException, match=r'no address: write Client\("localhost", 7401\)'):
        Client(port=7401)


@pytest.mark.parametrize("count", ["x", 1.5, 0, True])
def test_an_embedded_cluster_has_whole_numbers_of_cpus_and_governors(count: object) -> None:
    with pytest.raises(RainException, match=f"cpus is {count!r}; it must be a whole number"):
        Client(cpus=count)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType] # as newcomers do
    with pytest.raises(RainException, match=f"governors is {count!r}; it must be a whole number"):
        Client(governors=count)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType] # as above


def test_a_port_is_said_once() -> None:
    with pytest.raises(RainException, match="twice: in 'localhost:7401', and as 7210"):
        Client("localhost:7401", 7210)


def test_a_running_server_is_not_told_how_many_cpus_it_has() -> None:
    with pytest.raises(RainException, match="cpus would describe a cluster that starts now"):
        Client("localhost", 7210, cpus=2)


def test_a_secret_is_given_once_and_must_be_one(tmp_path: Path) -> None:
    with pytest.raises(RainException, match="give one of them"):
        Client("localhost", secret="0123456789abcdef", secret_file=tmp_path / "x")
    with pytest.raises(RainException, match="16 characters or more"):
        Client("localhost", secret="short")
    with pytest.raises(RainException, match="cannot be read: No such file"):
        Client("localhost", secret_file=tmp_path / "x")
    with pytest.raises(RainException, match="a secret of its own"):
        Client(secret="0123456789abcdef")


def test_the_environment_may_name_the_file_of_the_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAIN_SECRET_FILE", str(tmp_path / "missing"))
    with pytest.raises(RainException, match="missing cannot be read"):
        Client("localhost")


def test_the_server_s_info_speaks_in_ids(here: World) -> None:
    assert here.client.get_server_info() == {
        "governors": [
            {
                "governor_id": "127.0.0.1:1000",
                "tasks": [ID(1, 10)],
                "objects": [ID(1, 11)],
                "objects_to_delete": [],
                "resources": {"cpus": 4},
                "memory": {"running": {}},
                "out_of_reach": {},
                "links": {},
            }
        ]
    }


def test_update_refreshes_states_and_infos_of_tasks_and_objects(here: World) -> None:
    with here.session:
        task = work(1)
        task.output.keep()
        const = blob("const")
        here.session.submit()
        assert task.info is None
        here.server.content_types[task.output.packed_id] = "pickle"
        here.server.unfinished = {const.packed_id}

        here.client.update([task, task.output, const])

        assert task.state is TaskState.finished
        assert task.info is not None
        assert task.info.governor == "127.0.0.1:1000"
        assert task.info.start_time == "2026-01-01T00:00:00Z"
        assert task.info.duration == 0.25
        assert task.info.user == {"note": 1}
        assert task.info.debug == "a line"
        assert task.output.state is DataObjectState.finished
        assert task.output.info is not None
        assert task.output.content_type == "pickle"
        assert const.state is DataObjectState.unfinished
        assert const.info is None


def test_update_asks_for_many_items_in_several_messages(
    here: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reports, "ASKED_AT_ONCE", 2)
    with here.session:
        items = [work(number) for number in range(5)]
        here.session.submit()

        here.client.update([*items, *(item.output for item in items[:3])])

        assert here.server.calls.count("update") == 3
        assert all(item.info is not None for item in items)
        assert all(item.output.state is DataObjectState.finished for item in items[:3])


def test_update_shows_states_on_the_way(here: World) -> None:
    with here.session:
        task = work(1)
        here.session.submit()
        here.server.unfinished = {task.packed_id}

        states = [task.state]

        task.update()
        states.append(task.state)
        here.server.unfinished = set()
        here.session.wait_all()
        states.append(task.state)

        assert states == [TaskState.notAssigned, TaskState.running, TaskState.finished]


def test_update_takes_items_of_several_sessions(here: World) -> None:
    other = here.client.new_session()
    items = [work(session=here.session), work(session=other)]
    here.session.submit()
    other.submit()

    here.client.update(items)

    assert [item.state for item in items] == [TaskState.finished, TaskState.finished]


def test_update_refuses_other_things_and_what_was_not_submitted(here: World) -> None:
    with here.session:
        task = work(1)

        with pytest.raises(RainException, match="neither"):
            here.client.update(["task"])  # type: ignore[list-item] # pyright: ignore[reportArgumentType] # the mistake
        with pytest.raises(RainException, match="not submitted"):
            here.client.update([task])


def test_closing_ends_the_connection_once(here: World) -> None:
    with here.client as client:
        assert "closed" not in repr(client)

    here.client.close()

    assert here.server.calls.count("close") == 1
    assert "closed" in repr(here.client)


def test_a_client_that_is_collected_closes_its_connection() -> None:
    server = FakeConnection()
    client = Client.over(server)
    housekeeper = client.housekeeper

    del client
    gc.collect()
    housekeeper.join()

    assert server.closed


def test_sessions_keep_their_client_alive() -> None:
    server = FakeConnection()
    session = Client.over(server).new_session()
    gc.collect()

    session.submit()

    assert session.client is not None
    session.client.close()


def test_the_cluster_ends_after_the_connection() -> None:
    ended: list[bool] = []
    server = FakeConnection()

    class Cluster:
        def close(self) -> None:
            ended.append(server.closed)

    Client.over(server, Cluster()).close()

    assert ended == [True]


def test_closing_a_session_after_the_client_says_nothing(here: World) -> None:
    here.client.close()

    here.session.close()

    assert "close_session" not in here.server.calls


def test_threads_share_a_client(here: World) -> None:
    results: dict[int, list[int]] = {}

    def build(number: int) -> None:
        with here.client.new_session().bind_only() as session:
            made = [work(i) for i in range(50)]
            session.submit()
            results[number] = [task.id.session_id for task in made]

    threads = [threading.Thread(target=build, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted({ids[0] for ids in results.values()}) == [2, 3, 4, 5]
    assert all(len(set(ids)) == 1 for ids in results.values())
