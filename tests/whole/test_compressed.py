"""Between two machines on a slow link, what compresses takes fewer bytes on the wire."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Generator, Iterable
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from attrs import define

from rain.client import Client
from rain.common.secret_file import make_secret_file
from tests.support.machines import Machine, machines
from tests.support.waiting import until_now
from tests.whole.daemons import daemon, governor

pytestmark = pytest.mark.whole

SIZE = 24_000_000
PARTS = 3
LINE = b"2026-11-27 10:00:00 INFO a line as in many logs\n"


def lines(size: int) -> bytes:
    return LINE * (size // len(LINE))


def noise(size: int) -> bytes:
    return random.Random(1).randbytes(size)


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def split(data: bytes, parts: int) -> list[bytes]:
    size = len(data) // parts
    return [data[part * size : (part + 1) * size] for part in range(parts)]


def merge(pieces: Iterable[bytes]) -> str:
    return digest(b"".join(pieces))


@define
class Pair:
    """Two governors on machines of their own, `a` behind 100 Mbit/s."""

    client: Client
    reader: Machine

    def moved(self, what: Callable[[int], bytes], size: int) -> int:
        """Bytes that come to the machine of `b` when it reads what a task on `a` has made."""
        on = {name: self.client.options(resources={name: 1}) for name in "ab"}
        made = on["a"].submit(what, size)
        self.client.wait([made])
        before = self.reader.received()
        read = on["b"].submit(digest, made).result()
        after = self.reader.received()
        assert read == digest(what(size))
        return after - before

    def shuffled(self, made: list[bytes]) -> int:
        """The same of a shuffle that is split on `a` and merged on `b`."""
        on = {name: self.client.options(resources={name: 1}) for name in "ab"}
        pieces = on["a"].exchange(made, split, parts=PARTS)
        before = self.reader.received()
        parts = on["b"].map(merge, pieces)
        found = self.client.gather(parts)
        after = self.reader.received()
        assert found == [
            digest(b"".join(split(one, PARTS)[part] for one in made)) for part in range(PARTS)
        ]
        return after - before

    def link_of_a(self) -> dict[str, int]:
        """What the governor of `a` tells of its link to that machine."""
        links = [one["links"] for one in self.client.get_server_info()["governors"]]
        assert links.count({}) == 1
        found: dict[str, int] = next(one for one in links if one)[self.reader.address]
        return found


@contextmanager
def pair(folder: Path, *, reach: bool = True) -> Generator[Pair]:
    make_secret_file(folder / "secret")
    secret = ("--secret-file", str(folder / "secret"))
    with ExitStack() as stack:
        here, (a, b) = stack.enter_context(machines(2))
        a.sends_slowly("100mbit")
        if not reach:
            a.takes_no_connections()
        own = ("--listen", f"{here}:0", "--no-http", *secret)
        server = stack.enter_context(daemon(folder, "server", "server", *own))
        for name, machine in (("a", a), ("b", b)):
            own = ("--listen", f"{machine.address}:0", "--no-share-store", *secret)
            words = (*own, "--resource", f"{name}=1")
            started = governor(folder, name, server.address, 1, *words, on=machine.command)
            stack.enter_context(started)
        client = stack.enter_context(Client(here, server.port, secret_file=folder / "secret"))
        yield Pair(client, b)


def test_text_takes_few_bytes_of_a_slow_link_and_noise_no_more_than_it_has(tmp_path: Path) -> None:
    with pair(tmp_path) as here:
        assert here.moved(lines, SIZE) < SIZE // 2
        assert SIZE < here.moved(noise, SIZE) < SIZE * 1.1
        # and what was done is told
        until_now(lambda: here.link_of_a()["bytes"] >= len(lines(SIZE)) + SIZE)
        assert here.link_of_a()["compressed"] > SIZE // 2
        assert here.link_of_a()["sent"] < SIZE * 3 // 2


def test_text_stays_compressed_on_its_way_through_the_server(tmp_path: Path) -> None:
    with pair(tmp_path, reach=False) as here:
        assert here.moved(lines, SIZE) < SIZE // 2


@pytest.mark.parametrize("reach", [True, False], ids=["directly", "through the server"])
def test_parts_of_a_shuffle_take_few_bytes(tmp_path: Path, reach: bool) -> None:
    with pair(tmp_path, reach=reach) as here:
        assert here.shuffled([lines(SIZE // 6)] * 6) < SIZE // 2
