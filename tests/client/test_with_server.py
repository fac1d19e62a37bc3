"""The client with a real server and two real governors."""

import asyncio
import gc
import os
import pickle
import signal
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rain.client import (
    Client,
    ConnectionException,
    Input,
    Output,
    Program,
    RainException,
    Session,
    TaskException,
    TimeoutException,
    blob,
    directory,
    pickled,
    remote,
    tasks,
)
from rain.client.local import LocalCluster
from rain.client.rpc.common import DataObjectState, TaskState
from rain.common import ID, DataInstance
from rain.rpc.client_endpoint import ClientConnection
from tests.support.filesystems import another_filesystem
from tests.support.modes import MODES, client_in, in_processes

pytestmark = pytest.mark.whole


@pytest.fixture(scope="module", params=MODES)
def client(request: pytest.FixtureRequest) -> Iterator[Client]:
    with client_in(request.param, cpus=2, governors=2) as made:
        yield made


@pytest.fixture
def session(client: Client) -> Iterator[Session]:
    with client.new_session("test") as made:
        yield made


@remote(auto_load=True, auto_encode="pickle")
def add(ctx: Any, a: Any, b: Any = 0) -> Any:
    return a + b


@remote()
def length(ctx: Any, data: DataInstance) -> str:
    return str(len(data.get_bytes()))


@remote()
def fail(ctx: Any) -> None:
    raise ValueError("on purpose")


def held_by_governors(client: Client) -> set[ID]:
    """What some governor holds and is not about to delete."""
    return {
        number
        for governor in client.get_server_info()["governors"]
        for number in set(governor["objects"]) - set(governor["objects_to_delete"])
    }


def test_a_tree_of_functions_on_two_governors(session: Session) -> None:
    row = [add(i) for i in range(64)]
    while len(row) > 1:
        row = [add(a, b) for a, b in zip(row[::2], row[1::2], strict=True)]
    row[0].output.keep()
    session.submit()

    assert row[0].output.fetch().load() == sum(range(64))


def test_objects_inside_arguments_arrive(session: Session) -> None:
    @remote()
    def look(ctx: Any, structure: Any, **rest: Any) -> bytes:
        inner = structure["list"][0].get_bytes() + structure["list"][1].get_bytes()
        return b"|".join([inner, rest["named"].get_bytes()])

    task = look({"list": [blob("a"), tasks.Concat([blob("b")])]}, named=blob("c"))
    task.output.keep()
    session.submit()

    assert task.output.fetch().get_bytes() == b"ab|c"


def test_large_data_crosses_between_client_server_and_governors(session: Session) -> None:
    data = os.urandom(5 * 1024 * 1024)
    const = blob(data)
    joined = [tasks.Concat([const, const], name=f"join/{i}") for i in range(4)]
    lengths = [length(task) for task in joined]
    session.keep_all()
    session.submit()

    assert [found.get_bytes() for found in session.fetch_all(t.output for t in lengths)] == [
        b"10485760"
    ] * 4
    assert joined[3].output.fetch().get_bytes() == data + data
    assert const.fetch().get_bytes() == data


def test_a_large_result_is_downloaded_without_being_held(session: Session, tmp_path: Path) -> None:
    data = os.urandom(3 * 1024 * 1024)
    joined = tasks.Concat([blob(data)] * 3)
    folder = tasks.MakeDirectory({"data": joined})
    session.keep_all()
    session.submit()

    joined.output.download(tmp_path / "file")
    folder.output.download(tmp_path / "folder")

    assert (tmp_path / "file").read_bytes() == 3 * data
    assert (tmp_path / "folder" / "data").read_bytes() == 3 * data


def test_a_large_result_is_downloaded_to_another_filesystem(session: Session) -> None:
    data = os.urandom(3 * 1024 * 1024)
    joined = tasks.Concat([blob(data)] * 3)
    folder = tasks.MakeDirectory({"data": joined})
    session.keep_all()
    session.submit()

    with another_filesystem() as path:
        joined.output.download(path / "file")
        folder.output.download(path / "folder")

        assert (path / "file").read_bytes() == 3 * data
        assert (path / "folder" / "data").read_bytes() == 3 * data


def test_programs_functions_and_directories_work_together(session: Session) -> None:
    folder = directory({"b": "2", "a": "1"})
    listing = Program(["ls", Input("unused")], stdout=Output("names"), input_paths=["other"])
    names = tasks.Execute(["ls", folder], stdout=True)
    joined = tasks.Concat([names, tasks.SliceDirectory(folder, "a")])
    listed = listing(unused=blob("x"), other=blob("y"))
    session.keep_all()
    session.submit()

    assert joined.output.fetch().get_bytes() == b"a\nb\n1"
    assert listed.outputs["names"].fetch().get_str() == "unused\n"


def test_small_results_come_with_the_wait(session: Session) -> None:
    made = [add(i) for i in range(20)]
    session.keep_all()
    session.submit()
    session.wait_all()

    assert session.delivered_count >= 20
    assert [task.output.fetch().load() for task in made] == list(range(20))
    assert {task.state for task in made} == {TaskState.finished}


@in_processes
def test_wait_some_sees_the_quick_one_first(session: Session) -> None:
    slow = tasks.Sleep(blob("slow"), 60)
    quick = add(1)
    session.submit()

    assert session.wait_some([slow, quick]) == ([quick], [])
    assert session.wait_some([slow], timeout=0.01) == ([], [])
    with pytest.raises(TimeoutException):
        slow.wait(timeout=0.01)


def test_update_tells_states_and_infos(session: Session) -> None:
    task = add(1)
    task.output.keep()
    session.submit()
    session.wait_all()
    assert task.info is None

    session.update([task, task.output])

    assert task.state is TaskState.finished
    assert task.info is not None
    assert ":" in task.info.governor
    assert task.info.start_time
    assert task.output.state is DataObjectState.finished
    assert task.output.info is not None
    assert task.output.info.size == len(task.output.fetch().get_bytes())


def test_a_failing_function_tells_both_stacks_and_spares_other_sessions(client: Client) -> None:
    with client.new_session() as failing, client.new_session() as other:
        broken = fail(session=failing)
        good = add(1, session=other)
        failing.submit()
        other.submit()

        with pytest.raises(TaskException) as caught:
            broken.wait()
        other.wait_all()

        assert "ValueError: on purpose" in str(caught.value)
        assert "Task created at:" in str(caught.value)
        assert "broken = fail(session=failing)" in str(caught.value)
        assert good.state is TaskState.finished


def test_objects_that_were_dropped_can_not_be_inputs_any_more(session: Session) -> None:
    first = add(pickled(1))
    session.submit()
    add(first)

    with pytest.raises(RainException, match="was not kept"):
        session.submit()
    assert session.task_count == 1


def test_a_constant_of_an_earlier_submit_may_be_read_as_long_as_its_handle_lives(
    client: Client, session: Session
) -> None:
    # given: a large constant and a small one, not kept, whose first readers have finished
    large, small = pickled(bytes(100_000)), pickled(b"small")
    add(large, small)
    session.submit()
    session.wait_all()
    numbers = {large.id, small.id}

    # when
    again = add(large, small)
    again.output.keep()
    session.submit()

    # then
    assert again.output.fetch().load() == bytes(100_000) + b"small"
    with pytest.raises(RainException, match="is not kept"):
        large.fetch()
    assert held_by_governors(client) & numbers

    # when: nobody can name them any more
    again.output.unkeep()
    del again, large, small
    gc.collect()

    # then: a test that hangs is one that fails
    while held_by_governors(client) & numbers:
        pass


def test_collected_handles_let_their_data_go(client: Client, session: Session) -> None:
    made = [add(bytes(100_000), i.to_bytes(4, "big")) for i in range(10)]
    numbers = {task.output.id for task in made}
    session.keep_all()
    session.submit()
    session.wait_all()
    assert held_by_governors(client) >= numbers

    del made
    gc.collect()

    # The news travel to each governor with its next orders; a test that hangs is one that fails.
    while held_by_governors(client) & numbers:
        pass


def test_threads_work_in_sessions_of_their_own(client: Client) -> None:
    results: dict[int, int] = {}

    def work(number: int) -> None:
        with client.new_session() as own:
            task = add(number, pickled(number))
            task.output.keep()
            own.submit()
            results[number] = task.output.fetch().load()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert results == {i: 2 * i for i in range(4)}


def test_a_running_asyncio_loop_does_not_matter(client: Client) -> None:
    async def cell() -> int:
        with client.new_session() as own:
            task = add(20, 22)
            task.output.keep()
            own.submit()
            value: int = task.output.fetch().load()
            return value

    assert asyncio.run(cell()) == 42


@in_processes
def test_a_second_client_on_the_same_server_sees_its_governors(client: Client) -> None:
    cluster = client.housekeeper.cluster
    assert isinstance(cluster, LocalCluster)
    with Client(cluster.host, str(cluster.port), secret=cluster.secret.key) as second:
        assert len(second.get_server_info()["governors"]) == 2

    with pytest.raises(ConnectionException, match="closed"):
        second.new_session()


def test_a_client_without_a_server_is_told_the_address() -> None:
    with pytest.raises(ConnectionException, match="localhost:1"):
        Client("localhost", 1)


@in_processes
def test_a_forked_child_does_not_end_what_its_parent_uses(client: Client) -> None:
    with warnings.catch_warnings():
        # Newer Pythons warn of threads, which the child does not use.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        client.close()
        os._exit(0)
    os.waitpid(child, 0)

    assert len(client.get_server_info()["governors"]) == 2


@in_processes
def test_a_call_in_a_forked_child_fails_there_and_its_callback_is_called(client: Client) -> None:
    called = threading.Event()
    client.submit(abs, -1).add_done_callback(lambda _: called.set())
    assert called.wait(60)  # the threads of futures have started
    called.clear()
    # A child that was forked while another thread held a lock waits for that lock for ever, in any
    # program: it is killed by its alarm, and there is another one.
    ended = signal.SIGALRM.value
    while ended == signal.SIGALRM:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # as above
            child = os.fork()
        if child == 0:
            signal.alarm(5)
            future = client.submit(abs, -1)
            future.add_done_callback(lambda _: called.set())
            heard = called.wait(60) and isinstance(future.failure, ConnectionException)
            os._exit(0 if heard else 1)
        ended = os.waitpid(child, 0)[1]

    assert ended == 0
    assert client.submit(abs, -1).result() == 1


@remote(auto_encode="pickle")
def ones(ctx: Any, count: int) -> Any:
    return np.ones(count)


@remote(auto_load=True, auto_encode="json")
def looked_at(ctx: Any, array: Any) -> Any:
    owner: Any = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    return [float(array.sum()), array.flags.writeable, type(owner.obj).__name__]


@remote()
def pickled_by_hand(ctx: Any, data: DataInstance) -> str:
    return str(float(pickle.loads(data.get_bytes()).sum()))


@in_processes
def test_a_large_array_is_copied_nowhere_on_its_way(client: Client, session: Session) -> None:
    count = 1_000_000
    made = ones(count)
    given = pickled(np.ones(count))
    looks = [looked_at(array) for array in (made, given)]
    by_hand = pickled_by_hand(made)
    for kept in (made, *looks, by_hand):
        kept.output.keep()
    session.submit()

    # In a task it is the mapped file, of which written pages are copied
    assert [look.output.fetch().load() for look in looks] == [[count, True, "mmap"]] * 2
    # A program that unpickles bytes itself knows nothing of all this
    assert by_hand.output.fetch().get_str() == str(float(count))
    # And so it is in the client, on the same machine
    connection = client.connection
    assert isinstance(connection, ClientConnection)
    before = connection.bytes_received
    fetched = made.output.fetch()
    array = fetched.load()
    assert connection.bytes_received == before
    array[0] = 0
    assert float(array.sum()) == count - 1
    assert float(fetched.load().sum()) == count
