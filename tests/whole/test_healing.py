"""Ways that are cut, and heal: nothing is lost, and what was handed over does not run again."""

from __future__ import annotations

import hashlib
import random
import time
from collections import Counter
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from attrs import define

from rain.client import Client
from rain.common.secret_file import make_secret_file
from tests.support.machines import Machine, machines
from tests.support.waiting import until_now
from tests.whole.daemons import Daemon, daemon, governor

pytestmark = pytest.mark.whole

MANY = 40
LOST = 5
"""Packets that a cut has cost: a heartbeat is lost, and each time that it is sent again."""

CUTS = ("both ways", "to the server", "to the governor")
SIZE = 40_000_000


@define
class Site:
    """A server that comes back and two governors, each on a machine of its own."""

    folder: Path
    head: Machine
    machines: dict[str, Machine]
    server: Daemon
    governors: dict[str, Daemon]
    client: Client

    def cut(self, name: str, way: str = CUTS[0]) -> None:
        """Packets between the server and a governor are lost, and nobody is told."""
        for one, other in self._deaf(name, way):
            one.loses_what_comes_from(other.address)

    def heal(self, name: str, way: str = CUTS[0]) -> None:
        for one, other in self._deaf(name, way):
            one.hears(other.address)

    def has_cost_packets(self, name: str, way: str) -> bool:
        """Whether the cut has been felt at each end that it makes deaf."""
        return all(one.lost_of(other.address) >= LOST for one, other in self._deaf(name, way))

    def _deaf(self, name: str, way: str) -> list[tuple[Machine, Machine]]:
        """Which machine does not hear which one."""
        ends = [(self.head, self.machines[name]), (self.machines[name], self.head)]
        return {CUTS[0]: ends, CUTS[1]: ends[:1], CUTS[2]: ends[1:]}[way]

    def known(self) -> set[str]:
        """The addresses of the governors that the server has."""
        return {one["governor_id"] for one in self.client.get_server_info()["governors"]}

    def begun(self) -> Counter[int]:
        """How often each call has begun."""
        return Counter(int(line) for line in (self.folder / "begun").read_text().split())


def work(number: int, seconds: float, log: str) -> int:
    with Path(log).open("a", buffering=1) as file:  # a short line is written whole
        file.write(f"{number}\n")
    time.sleep(seconds)
    return number


@contextmanager
def site(folder: Path, *, silence: str) -> Generator[Site]:
    make_secret_file(folder / "secret")
    secret = ("--secret-file", str(folder / "secret"))
    with ExitStack() as stack:
        _, (head, a, b) = stack.enter_context(machines(3))
        own = ("--listen", f"{head.address}:0", "--no-http", "--journal", str(folder / "journal"))
        limits = ("--governor-timeout", silence)
        server = stack.enter_context(
            daemon(folder, "server", "server", *own, *limits, *secret, on=head.command)
        )
        governors: dict[str, Daemon] = {}
        for name, machine in (("a", a), ("b", b)):
            words = (
                "--listen",
                f"{machine.address}:0",
                "--no-share-store",
                "--server-timeout",
                silence,
                "--resource",
                f"{name}=1",
            )
            started = governor(folder, name, server.address, 1, *words, *secret, on=machine.command)
            governors[name] = stack.enter_context(started)
        client = stack.enter_context(
            Client(head.address, server.port, secret_file=folder / "secret")
        )
        yield Site(folder, head, {"a": a, "b": b}, server, governors, client)


@pytest.mark.parametrize("way", CUTS)
def test_a_cut_that_heals_within_the_limit_of_silence_is_only_a_pause(
    tmp_path: Path, way: str
) -> None:
    with site(tmp_path, silence="60") as here:
        known = here.known()
        log = str(tmp_path / "begun")
        futures = [here.client.submit(work, n, 0.1, log) for n in range(MANY)]
        here.client.wait(futures, num_returns=2)
        here.cut("a", way)
        until_now(lambda: here.has_cost_packets("a", way))
        here.heal("a", way)
        assert here.client.gather(futures) == list(range(MANY))
        assert here.begun() == Counter(range(MANY))
        assert here.known() == known


@pytest.mark.parametrize("way", CUTS)
def test_a_cut_beyond_the_limit_costs_only_what_was_not_handed_over(
    tmp_path: Path, way: str
) -> None:
    with site(tmp_path, silence="5") as here:
        log = str(tmp_path / "begun")
        done = [here.client.submit(work, n, 0.05, log) for n in range(MANY)]
        assert here.client.gather(done) == list(range(MANY))
        futures = [here.client.submit(work, n, 0.2, log) for n in range(MANY, 2 * MANY)]
        here.client.wait(futures, num_returns=2)
        here.cut("a", way)
        # The other one does what the lost one has not handed over.
        assert here.client.gather(futures) == list(range(MANY, 2 * MANY))
        until_now(lambda: len(here.known()) == 1)
        here.heal("a", way)
        until_now(lambda: len(here.known()) == 2)  # as another one, which has nothing
        begun = here.begun()
        assert all(begun[number] == 1 for number in range(MANY))
        assert here.client.options(resources={"a": 1}).submit(abs, -1).result() == 1
        assert here.governors["a"].process.poll() is None


def made(size: int) -> bytes:
    return random.Random(1).randbytes(size)  # which does not compress


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_a_transfer_goes_on_through_the_server_when_packets_are_dropped_in_its_middle(
    tmp_path: Path,
) -> None:
    with site(tmp_path, silence="60") as here:
        known = here.known()
        a, b = here.machines["a"], here.machines["b"]
        on = {name: here.client.options(resources={name: 1}) for name in "ab"}
        first, second = on["a"].submit(made, SIZE), on["a"].submit(made, SIZE // 2)
        here.client.wait([first, second])
        a.sends_slowly("100mbit")
        before = b.received()
        read = on["b"].submit(digest, first)
        until_now(lambda: b.received() - before > SIZE // 8)
        # when the two governors hear nothing of each other, and nobody is told
        a.loses_what_comes_from(b.address)
        b.loses_what_comes_from(a.address)
        # then what is missing comes through the server
        assert read.result() == digest(made(SIZE))
        assert b.received() - before < 2 * SIZE
        assert "object came through the server" in here.governors["b"].errors.read_text()
        # and when the way is open again, both go on
        a.hears(b.address)
        b.hears(a.address)
        assert on["b"].submit(digest, second).result() == digest(made(SIZE // 2))
        assert here.known() == known
