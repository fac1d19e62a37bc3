"""Spec 1.4: what a client sees of the server, and what ends with it."""

import gc

import pytest

from rain.client import Client, Session, blob, tasks
from rain.client.local import LocalCluster
from rain.common import ID
from tests.compat.running import held, result
from tests.support.modes import in_processes

pytestmark = pytest.mark.whole


def second(client: Client) -> Client:
    """Another client of the same server; the port is a text, as many programs have it."""
    cluster = client.housekeeper.cluster
    assert isinstance(cluster, LocalCluster)
    return Client(cluster.host, str(cluster.port), secret=cluster.secret.key)


def running(client: Client) -> set[ID]:
    return {task for g in client.get_server_info()["governors"] for task in g["tasks"]}


def test_the_server_info_has_the_form_of_rain_0_4(client: Client, session: Session) -> None:
    task = tasks.Sleep(blob("x"), 60)
    session.submit()
    while task.id not in running(client):
        pass

    info = client.get_server_info()

    assert list(info) == ["governors"]
    for governor in info["governors"]:
        assert set(governor) == {
            *("governor_id", "tasks", "objects", "objects_to_delete", "resources"),
            *("memory", "out_of_reach", "links"),  # which Rain 0.4 does not have
        }
        host, _, port = governor["governor_id"].rpartition(":")
        assert host == "127.0.0.1"
        assert port.isdigit()
        assert governor["resources"]["cpus"] == 2


def test_objects_to_delete_are_still_among_the_objects(client: Client, session: Session) -> None:
    task = tasks.Concat([blob(bytes(100_000))])
    task.output.keep()
    session.submit()
    session.wait_all()
    assert task.output.id in held(client)

    task.output.unkeep()

    (governor,) = [
        governor
        for governor in client.get_server_info()["governors"]
        if task.output.id in governor["objects"]
    ]
    assert task.output.id in governor["objects_to_delete"]


def test_the_info_of_a_task_names_a_governor_of_the_server_info(
    client: Client, session: Session
) -> None:
    task = tasks.Concat([blob("x")])
    session.submit()
    task.wait()
    task.update()

    assert task.info is not None
    assert task.info.governor in {
        governor["governor_id"] for governor in client.get_server_info()["governors"]
    }


def test_a_session_may_be_named_by_anything(client: Client) -> None:
    with client.new_session(name=123) as session:  # type: ignore[arg-type] # pyright: ignore[reportArgumentType] # programs do it
        assert session.spec.name == "123"


@in_processes
def test_dropping_a_client_ends_its_sessions(client: Client) -> None:
    other = second(client)
    session = other.new_session("dropped")
    with session.bind_only():
        task = tasks.Sleep(blob("x"), 60)
    session.submit()
    number = task.id
    while number not in running(client):
        pass

    del other, session, task
    gc.collect()

    # The news travel with the end of the connection; a test that hangs is one that fails.
    while number in running(client):
        pass


@in_processes
def test_the_sessions_of_one_client_do_not_end_with_another(client: Client) -> None:
    with client.new_session("stays") as session:
        constant = blob("x")
        second(client).close()
        assert result(tasks.Concat([constant, constant])) == b"xx"
        assert session.active
