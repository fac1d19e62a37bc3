"""Every public name says what it does and shows it; the examples run on one real cluster."""

import doctest
import inspect
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import rain.client
from docs.inner_names import INNER
from rain.client import Client
from rain.client.futures.executor import ClusterExecutor
from rain.client.local import LocalCluster
from rain.client.reaching import cluster as reaching
from tests.support.shared_cluster import SharedCluster

pytestmark = pytest.mark.whole


def members(cls: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties of a class that are our own."""
    within = INNER.get(cls.__name__, "").split()
    for name in dir(cls):
        if name.startswith("_") or name in within:
            continue
        owner = next(base for base in cls.__mro__ if name in vars(base))
        member = inspect.getattr_static(cls, name)
        if owner.__module__.startswith("rain.") and (
            callable(member) or isinstance(member, property | classmethod | staticmethod)
        ):
            yield name, member


def public() -> Iterator[tuple[str, Any]]:
    named = {name: getattr(rain.client, name) for name in rain.client.__all__}
    named |= {
        f"tasks.{name}": getattr(rain.client.tasks, name) for name in rain.client.tasks.__all__
    }
    for name, found in {**named, "ClusterExecutor": ClusterExecutor}.items():
        yield name, found
        if isinstance(found, type) and not name.startswith("tasks."):
            for member_name, member in members(found):
                yield f"{name}.{member_name}", member


PUBLIC = dict(public())


def docstring(found: Any) -> str:
    if isinstance(found, type | ModuleType):
        return vars(found).get("__doc__") or ""  # not one that it inherits
    return inspect.getdoc(found) or ""


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    made = LocalCluster(cpus=2)
    yield made
    made.close()


@pytest.fixture(scope="module")
def client(cluster: LocalCluster) -> Iterator[Client]:
    with Client(cluster.host, cluster.port, secret=cluster.secret.key) as made:
        yield made


def test_what_is_left_out_is_there() -> None:
    for name, within in INNER.items():
        for member in within.split():
            assert hasattr(getattr(rain.client, name), member), f"{name}.{member}"


@pytest.mark.filterwarnings("ignore:.*has no journal")
@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_has_a_docstring_with_an_example_that_holds(
    name: str,
    client: Client,
    cluster: LocalCluster,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    text = docstring(PUBLIC[name])
    assert text, f"{name} has no docstring"
    assert ">>> " in text, f"the docstring of {name} has no example"
    if name != "Client.terminate_server":

        def shared(cpus: int | None, governors: int, **_: object) -> SharedCluster:
            return SharedCluster(cluster)

        monkeypatch.setattr(reaching, "LocalCluster", shared)
    monkeypatch.chdir(tmp_path)
    names = {each: getattr(rain.client, each) for each in rain.client.__all__}
    told: list[str] = []
    with client.new_session("examples", on_failure="continue") as session:
        names |= {"client": client, "session": session, "__name__": "__main__"}
        example = doctest.DocTestParser().get_doctest(text, names, name, None, None)
        doctest.DocTestRunner(verbose=False).run(example, out=told.append)

    assert not told, "\n".join(told)
