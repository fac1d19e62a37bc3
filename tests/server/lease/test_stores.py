"""What each place in which a lease is kept has to do, judged on the real ones."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
import structlog

from rain.base.errors import StartError
from rain.server.lease.holder import this_server
from rain.server.lease.lease import LeaseLostError, take
from rain.server.lease.places import store_of
from rain.server.lease.rules import NOBODY
from rain.server.lease.store import LeaseStoreError
from tests.server.lease.real_stores import etcd, free_ports, postgresql

ONE, TWO = this_server("one:7210"), this_server("two:7210")
LENGTH = 5.0
_names = count(1)


@pytest.fixture(scope="module", params=["folder", "etcd", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "etcd":
        with etcd(folder) as found:
            yield f"{found}/"
    elif request.param == "postgresql":
        with postgresql() as found:
            yield f"{found}#"
    else:
        yield ""


@pytest.fixture
def where(url: str) -> str:
    """The place of a cluster of its own."""
    return f"{url}test-{next(_names)}" if url else ""


def test_the_first_one_takes_it_and_others_see_that(where: str, tmp_path: Path) -> None:
    store, other = store_of(where, tmp_path), store_of(where, tmp_path)
    assert store.read() == NOBODY
    first = NOBODY.taken_by(ONE, LENGTH)
    assert store.put(NOBODY, first)
    assert not other.put(NOBODY, NOBODY.taken_by(TWO, LENGTH))
    assert other.read() == first
    store.close()
    other.close()


def test_a_change_counts_if_nobody_has_taken_it_meanwhile(where: str, tmp_path: Path) -> None:
    store, other = store_of(where, tmp_path), store_of(where, tmp_path)
    first = NOBODY.taken_by(ONE, LENGTH)
    assert store.put(NOBODY, first)
    renewed = first.renewed()
    assert store.put(first, renewed)
    found = other.read()
    assert found == renewed
    second = found.taken_by(TWO, LENGTH)
    assert other.put(found, second)
    # when / then
    assert not store.put(renewed, renewed.renewed())
    assert store.read() == second
    assert other.put(second, second.let_go(over=True))
    assert store.read().over
    store.close()
    other.close()


def test_a_lease_goes_from_one_server_to_the_next(where: str, tmp_path: Path) -> None:
    log = structlog.get_logger()
    store, other = store_of(where, tmp_path), store_of(where, tmp_path)
    first = take(store, store.read(), ONE, LENGTH, 0, log)
    assert first is not None
    first.renew()
    first.check()
    second = take(other, other.read(), TWO, LENGTH, 0, log)
    assert second is not None
    first.renew()
    with pytest.raises(LeaseLostError, match="the server at two:7210 has taken it"):
        first.check()
    second.renew()
    second.check()
    second.let_go()
    assert store.read().released
    store.close()
    other.close()


def test_two_clusters_have_leases_of_their_own(url: str, tmp_path: Path) -> None:
    if not url:  # two folders
        places = [store_of("", tmp_path / name) for name in ("a", "b")]
        for name in ("a", "b"):
            (tmp_path / name).mkdir()
    else:
        places = [store_of(f"{url}{name}", tmp_path) for name in ("a", "b")]
    for store in places:
        assert store.put(NOBODY, NOBODY.taken_by(ONE, LENGTH))
        store.close()


@pytest.mark.parametrize("scheme", ["etcd", "postgresql"])
def test_a_place_that_does_not_answer_is_told_by_name(scheme: str, tmp_path: Path) -> None:
    (port,) = free_ports(1)
    store = store_of(f"{scheme}://127.0.0.1:{port}", tmp_path)
    with pytest.raises(LeaseStoreError, match=f"{port}.*refused"):
        store.read()


@pytest.mark.parametrize(
    ("where", "why"),
    [
        ("redis://here", "is neither etcd://HOST:PORT"),
        ("postgresql://me:secret@here/db", "a password on a command line"),
        ("etcd://here:port/x", "is not PORT, HOST or HOST:PORT"),
    ],
)
def test_a_url_that_is_not_understood_is_refused_by_name(
    where: str, why: str, tmp_path: Path
) -> None:
    with pytest.raises(StartError, match=why):
        store_of(where, tmp_path)
