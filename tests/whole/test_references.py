"""Futures from hand to hand, on real governors: in arguments, in results, in other programs."""

import os
import pickle
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from rain.base.wire.requests import OverviewOf
from rain.client import Client, Future, get_client
from rain.client.local import LocalCluster
from tests.support.waiting import until_now

pytestmark = pytest.mark.whole


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    made = LocalCluster(cpus=1, governors=2)
    yield made
    made.close()


@pytest.fixture
def client(cluster: LocalCluster) -> Iterator[Client]:
    with Client(cluster.host, cluster.port, secret=cluster.secret.key) as made:
        yield made


def counted(client: Client) -> int:
    """The tasks of all sessions that are there, with those that have gone."""
    return client.connection.ask(OverviewOf()).tasks


class Box:
    def __init__(self, inside: object) -> None:
        self.inside = inside


def looked_at(box: Any) -> list[Any]:
    futures: list[Future[Any]] = [*box["list"], box["box"].inside]
    assert all(isinstance(future, Future) for future in futures)
    return [future.result() for future in futures]


def test_a_task_reads_the_futures_in_its_arguments_itself(client: Client) -> None:
    futures = client.map(abs, [-1, -2, -3])
    box = {"list": futures[:2], "box": Box(futures[2])}
    assert client.submit(looked_at, box).result(timeout=60) == [1, 2, 3]


def wait_for_a_file(path: str) -> str:
    while not os.path.exists(path):  # noqa: PTH110 # that of a task
        time.sleep(0.01)
    return "there"


def first_sight(futures: list[Future[str]], path: str) -> str:
    before = futures[0].done()
    with open(path, "w"):  # noqa: PTH123 # that of a task
        pass
    return f"{before} {futures[0].result()}"


def test_the_call_does_not_wait_for_them(client: Client, tmp_path: Any) -> None:
    path = str(tmp_path / "file")
    slow = client.submit(wait_for_a_file, path)
    assert client.submit(first_sight, [slow], path).result(timeout=60) == "False there"


def spread(count: int) -> list[Future[int]]:
    return get_client().map(abs, range(-count, 0))


def total(futures: list[Future[int]]) -> int:
    return sum(get_client().gather(futures))


def test_what_a_task_returns_outlives_it(client: Client) -> None:
    made = client.submit(spread, 4)
    assert client.submit(total, made).result(timeout=60) == 10
    inner = made.result()
    del made
    assert client.gather(inner) == [4, 3, 2, 1]
    assert client.submit(pow, inner[0], 2).result(timeout=60) == 16
    assert client.submit(total, inner).result(timeout=60) == 10
    assert client.submit(total, client.put(inner)).result(timeout=60) == 10


def later(seconds: float) -> Future[float]:
    return get_client().submit(slowly, seconds)


def slowly(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


def nested(depth: int) -> Any:
    return get_client().submit(nested, depth - 1) if depth else "the end"


def test_what_it_returns_may_not_be_done_yet(client: Client) -> None:
    inner = client.submit(later, 0.2).result(timeout=60)
    assert inner.result(timeout=60) == 0.2
    found = client.submit(nested, 4)
    while isinstance(found, Future):
        found = found.result(timeout=60)
    assert found == "the end"


def broken() -> None:
    raise KeyError("a")


def spread_broken() -> list[Future[None]]:
    return [get_client().submit(broken)]


def error_of(futures: list[Future[None]]) -> str:
    return repr(futures[0].exception())


def test_a_failure_is_raised_wherever_it_is_asked_for(client: Client) -> None:
    (inner,) = client.submit(spread_broken).result(timeout=60)
    assert isinstance(inner.exception(timeout=60), KeyError)
    assert client.submit(error_of, [inner]).result(timeout=60) == "KeyError('a')"
    cancelled = client.submit(time.sleep, 600)
    cancelled.cancel()
    assert "CancelledError" in client.submit(raised_by, [cancelled]).result(timeout=60)


def raised_by(futures: list[Future[None]]) -> str:
    try:
        futures[0].result()
    except BaseException as error:  # noqa: BLE001 # whatever it is
        return repr(error)
    return "nothing"


OTHER = """
import pickle, sys
from rain.client import Client
data = bytes.fromhex(sys.argv[3])
try:
    pickle.loads(data)
except Exception as error:
    print(error)
with Client(sys.argv[1], sys.argv[2], secret=bytes.fromhex(sys.argv[4])) as client:
    future = pickle.loads(data)
    print(future.result(), client.submit(pow, future, 2).result())
    print("taken", flush=True)
    sys.stdin.readline()
    print(pickle.loads(data) is future, future.result(), client.submit(abs, future).result())
"""


def test_another_program_has_a_future_also_after_its_client(cluster: LocalCluster) -> None:
    client = Client(cluster.host, cluster.port, secret=cluster.secret.key)
    future = client.submit(abs, -5)
    arguments = [cluster.host, str(cluster.port), pickle.dumps(future).hex()]
    with subprocess.Popen(
        [sys.executable, "-c", OTHER, *arguments, cluster.secret.key.hex()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout is not None
        said = [other.stdout.readline() for _ in range(3)]
        client.close()
        rest, _ = other.communicate("go on\n", timeout=60)
    assert "cannot be unpickled without a client" in said[0]
    assert said[1:] == ["5 25\n", "taken\n"]
    assert rest == "True 5 5\n"


def test_what_nobody_can_reach_goes_without_closing_anything() -> None:
    with Client(cpus=1) as client:
        for _ in range(3):
            made = client.map(spread, [3] * 10)
            inner = [future for one in made for future in one.result()]
            assert client.submit(total, inner).result(timeout=60) == 60
            del made, inner
        # The sessions of the tasks have ended, and only the calls of this client are counted.
        until_now(lambda: counted(client) == 3 * 11)


def exchanged(mine: str, other: str) -> Any:
    """Returns the future that lies in a file, as soon as it is there."""
    until_now(lambda: os.path.exists(other))  # noqa: PTH110 # a path of a test
    with open(other, "rb") as file:  # noqa: PTH123 # as above
        return mine, pickle.load(file)


def test_results_that_have_each_others_future_inside_go_with_their_clients(tmp_path: Path) -> None:
    cluster = LocalCluster(cpus=2)  # of its own: executors may still have what others returned
    with closing(cluster), Client(cluster.host, cluster.port, secret=cluster.secret.key) as looking:
        # given
        others = [Client(cluster.host, cluster.port, secret=cluster.secret.key) for _ in range(2)]
        paths = [str(tmp_path / "first"), str(tmp_path / "second")]
        made = [
            client.submit(exchanged, path, other)
            for client, path, other in zip(others, paths, paths[::-1], strict=True)
        ]
        for data, path in zip(map(pickle.dumps, made), paths, strict=True):
            part = Path(f"{path}.part")
            part.write_bytes(data)
            part.rename(path)
        assert [one.result(timeout=60)[0] for one in made] == paths
        assert counted(looking) >= 2

        # when
        made.clear()
        for client in others:
            client.close()

        # then
        until_now(lambda: counted(looking) == 0)
