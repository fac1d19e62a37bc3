"""Futures inside of arguments, data and pickles: what the server is told of them."""

from __future__ import annotations

import copy
import gc
import pickle
from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import Any

import msgpack
import pytest

from rain.base.ids import ObjectId
from rain.base.wire.answers import WaitAnswer
from rain.base.wire.submission import Submission
from rain.client import Client, Future, pickled, references, remote
from rain.client.futures.sending import CallSender
from rain.common.errors import RainException
from tests.client.fake import FakeConnection

Contents = dict[int, list[ObjectId]]


def add(a: Any, b: Any = 0) -> Any:
    return a + b


class Box:
    def __init__(self, inside: object) -> None:
        self.inside = inside


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Generator[FakeConnection]:
    """One whose client sends when somebody waits, or by `map`, so that tests know when."""
    monkeypatch.setattr(CallSender, "soon", CallSender.sent)
    made = FakeConnection()
    yield made
    made.errors.clear()


@pytest.fixture
def client(server: FakeConnection) -> Generator[Client]:
    with Client.over(server) as made:
        yield made


def another(server: FakeConnection) -> Client:
    """A client of the same cluster, in another program as far as it knows."""
    connection = FakeConnection()
    connection.cluster = server.cluster
    connection.outputs = server.outputs
    return Client.over(connection)


def contents(submission: Submission) -> Contents:
    columns, start, found = submission.contents, 0, Contents()
    for holder, count in zip(columns.holders, columns.counts, strict=True):
        found[holder] = list(columns.objects[start : start + count])
        start += count
    return found


def args_of(submission: Submission) -> Sequence[bytes]:
    args: list[bytes] = msgpack.unpackb(submission.tasks.configs[-1])["args"]
    return args


def test_a_pickled_future_is_of_its_own_cluster_after_another_client_has_connected(
    client: Client,
) -> None:
    future = client.submit(add, 1)
    data = pickle.dumps(future)
    with Client.over(FakeConnection()):
        again = pickle.loads(data)
    assert again.handle.packed_id == future.handle.packed_id


def given_back(server: FakeConnection) -> list[int]:
    return [one for some in server.unkept for one in some]


def in_a_dictionary(value: object) -> object:
    return {"a": [value]}


def in_a_list(value: object) -> object:
    return [value]


@pytest.mark.parametrize("wrap", [in_a_list, in_a_dictionary, Box])
def test_a_future_inside_of_an_argument_is_no_input(
    server: FakeConnection, client: Client, wrap: Callable[[object], object]
) -> None:
    first = client.submit(add, 1)
    (second,) = client.map(add, [wrap(first)])

    submission = server.submissions[-1]
    assert list(submission.tasks.input_counts) == [1, 1]  # the function alone
    assert contents(submission) == {submission.tasks.ids[-1]: [first.object_id]}
    assert second.object_id == submission.tasks.outputs[-1]


def test_what_is_inside_of_a_large_argument_is_inside_of_its_upload(
    server: FakeConnection, client: Client
) -> None:
    first = client.submit(add, 1)
    client.map(add, [[bytes(300_000), first]])

    submission = server.submissions[-1]
    large = max(zip(map(len, submission.constants.data), submission.constants.ids, strict=True))
    assert contents(submission) == {large[1]: [first.object_id]}


def test_data_objects_inside_of_an_argument_stay_inputs(
    server: FakeConnection, client: Client
) -> None:
    with client.new_session() as session, session.bind_only():
        text = pickled("text")

        @remote()
        def read(ctx: object, values: object) -> None:
            """Reads them."""

        first = client.submit(add, 1)
        task = read([text, first])
        session.submit()

    submission = server.submissions[-1]
    assert text.packed_id in submission.tasks.inputs
    assert contents(submission) == {task.packed_id: [first.object_id]}
    assert server.submissions[-2].tasks.outputs[0] == first.object_id, "its call was sent before"


def test_a_value_that_is_put_tells_what_is_inside(server: FakeConnection, client: Client) -> None:
    first = client.submit(add, 1)
    box = client.put({"a": [first, first]})

    assert contents(server.submissions[-1]) == {box.object_id: [first.object_id]}


def test_a_function_tells_what_it_has_captured(server: FakeConnection, client: Client) -> None:
    first = client.submit(add, 1)

    def more(x: int) -> int:
        added: int = first.result() + x
        return added

    client.map(more, [1])

    (inside,) = contents(server.submissions[-1]).values()
    assert inside == [first.object_id]


def test_a_future_inside_stays_until_it_is_told(server: FakeConnection, client: Client) -> None:
    box = client.put(1)
    inside = box.object_id
    client.submit(add, [box])
    del box
    gc.collect()
    client.housekeeper.flush()
    assert inside not in given_back(server)

    client.map(add, [])
    gc.collect()
    client.housekeeper.flush()
    assert contents(server.submissions[-1]) != {}
    assert inside in given_back(server)


def test_a_future_that_is_unpickled_where_it_is_still_there_is_the_same_one(
    server: FakeConnection, client: Client
) -> None:
    for future in (client.put(1), *client.map(add, [1])):
        assert pickle.loads(pickle.dumps(future)) is future
        assert copy.deepcopy([future])[0] is future
    assert not server.taken


def test_pickling_sends_the_call_so_that_others_can_ask_for_it(
    server: FakeConnection, client: Client
) -> None:
    future = client.submit(add, 1)
    assert not server.submissions
    pickle.dumps(future)
    assert list(server.submissions[-1].tasks.outputs) == [future.object_id]


def test_what_is_unpickled_by_another_client_is_taken_and_given_back(
    server: FakeConnection, client: Client
) -> None:
    data = pickle.dumps(client.map(add, [1, 2]))
    other = another(server)
    connection: Any = other.connection
    taken: list[Future[Any]] = pickle.loads(data)
    assert [future.name for future in taken] == ["add", "add"]
    assert connection.taken == []
    taken[0].home.sending.send()
    ids = [future.object_id for future in taken]
    assert connection.taken == [(one, True) for one in ids], "all of them at once"
    assert connection.calls.count("take_handles_then") == 1
    assert all(future.done() for future in taken)

    del taken
    gc.collect()
    other.housekeeper.flush()
    assert sorted(given_back(connection)) == ids
    other.close()


def test_what_is_taken_is_told_before_what_is_given_back(
    server: FakeConnection, client: Client
) -> None:
    data = pickle.dumps(client.map(add, [1])[0])
    other = another(server)
    connection: Any = other.connection
    outer: Future[Any] = pickle.loads(data)
    outer.home.sending.send()
    connection.calls.clear()

    inner: Future[Any] = pickle.loads(pickle.dumps(client.map(add, [2])[0]))
    del outer
    gc.collect()
    other.housekeeper.flush()
    told = [call for call in connection.calls if call != "update"]  # which the double adds
    assert told == ["take_handles_then", "handles_gone"]
    assert inner.name == "add"
    other.close()


def test_what_is_not_done_is_waited_for(server: FakeConnection, client: Client) -> None:
    data = pickle.dumps(client.map(add, [1])[0])
    other = another(server)
    connection: Any = other.connection
    taken: Future[Any] = pickle.loads(data)
    connection.unfinished.add(taken.object_id)
    taken.home.sending.send()
    assert not taken.done()

    (asked, then) = connection.asked_why.pop()
    assert asked == taken.object_id
    then(WaitAnswer(objects=[asked]))
    assert taken.done()
    other.close()


def test_what_has_gone_fails_alone(server: FakeConnection, client: Client) -> None:
    gone, there = client.map(add, [1, 2])
    data = pickle.dumps([gone, there])
    other = another(server)
    connection: Any = other.connection
    connection.unknown.add(gone.object_id)
    lost, found = pickle.loads(data)
    lost.home.sending.send()
    assert found.exception() is None
    with pytest.raises(RainException, match="is unknown"):
        lost.result()
    other.close()


def test_a_cancelled_reference_is_cancelled_in_its_own_session(
    server: FakeConnection, client: Client
) -> None:
    data = pickle.dumps(client.map(add, [1])[0])
    other = another(server)
    other.open_futures()
    other.new_session()
    connection: Any = other.connection
    taken: Future[Any] = pickle.loads(data)
    connection.unfinished.add(taken.object_id)
    taken.home.sending.send()
    assert taken.cancel()
    assert connection.cancelled == [([], [taken.object_id], False)]
    other.close()


def test_the_future_of_another_client_is_an_argument_too(
    server: FakeConnection, client: Client
) -> None:
    other = another(server)
    foreign = other.submit(add, 1)
    client.map(partial(add, b=2), [foreign])

    connection: Any = other.connection
    assert list(connection.submissions[-1].tasks.outputs) == [foreign.object_id], "it is known"
    assert (foreign.object_id, True) in server.taken
    assert foreign.object_id in server.submissions[-1].tasks.inputs
    other.close()


def test_without_a_client_of_its_cluster_a_future_cannot_be_unpickled(
    server: FakeConnection, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(references, "_clients", [])  # those of other tests may be open
    data = pickle.dumps(client.map(add, [1])[0])
    client.close()
    with Client.over(FakeConnection()), pytest.raises(RainException, match="another cluster"):
        pickle.loads(data)
    gc.collect()
    with pytest.raises(RainException, match="cannot be unpickled without a client"):
        pickle.loads(data)
