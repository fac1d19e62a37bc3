"""Between real processes: the messages and bytes on the connections are counted by taps.

How much news goes into one message depends on how fast the processes are, so the limits leave room
where many tasks run at once. Round trips leave none but for heartbeats.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from attrs import define

from rain.client import Client, Output, remote
from tests.support.tap import Tap
from tests.whole.daemons import governor, server

pytestmark = pytest.mark.whole

ROUNDS = 40
TASKS = 1000
HEARTBEATS = 20  # messages that may come for the sake of time alone

ROUND_TRIP = {
    "client messages there": 2.0,
    "client messages back": 1.0,
    "governor messages there": 2.0,  # an update, and what the last orders return
    "governor messages back": 2.0,
    "client bytes there": 350.0,
    "client bytes back": 180.0,
    "governor bytes there": 400.0,
    "governor bytes back": 460.0,
}
"""For each task, whose value is wanted before the next is described."""

MANY = {
    "client messages there": 0.01,
    "client messages back": 0.01,
    "governor messages there": 0.1,
    "governor messages back": 0.05,
    "client bytes there": 120.0,
    "client bytes back": 60.0,
    "governor bytes there": 74.0,
    "governor bytes back": 120.0,
}
"""For each of a thousand tasks that are submitted together."""


@remote(outputs=[Output(encode="pickle")], auto_load=True)
def inc(ctx: object, number: int) -> int:
    return number + 1


@define(eq=False)
class Tapped:
    client: Client
    of_client: Tap
    of_governor: Tap

    def seen(self) -> Counter[str]:
        found: Counter[str] = Counter()
        for name, tap in (("client", self.of_client), ("governor", self.of_governor)):
            found.update({f"{name} {what}": value for what, value in tap.seen().items()})
        return found


@contextmanager
def tapped(folder: Path) -> Generator[Tapped]:
    with (
        server(folder, "--insecure") as real,
        Tap(real.address) as of_client,
        Tap(real.address) as of_governor,
        governor(folder, "governor", of_governor.address, 2, "--monitoring", "0", "--insecure"),
        Client("127.0.0.1", of_client.port, insecure=True) as client,
    ):
        yield Tapped(client, of_client, of_governor)


def check(seen: Counter[str], before: Counter[str], tasks: int, limits: dict[str, float]) -> None:
    grown: dict[str, str] = {}
    for what, limit in limits.items():
        figure = seen[what] - before[what]
        slack = HEARTBEATS * (1 if "messages" in what else 200)
        print(f"{what:30} {figure / tasks:10.3f}")  # noqa: T201 # -rP shows it
        assert figure, f"the tap has seen no {what}"
        if figure > limit * tasks + slack:
            grown[what] = f"{figure / tasks:.3f} > {limit:.3f}"
    assert not grown


def test_the_messages_of_round_trips_do_not_grow(tmp_path: Path) -> None:
    with tapped(tmp_path) as taps, taps.client.new_session("round trips") as session:
        outputs = [inc(0).output]
        session.submit()
        session.wait_all()
        before = taps.seen()

        for number in range(ROUNDS):
            output = inc(number).output
            outputs.append(output)
            assert session.compute(output).load() == number + 1

        check(taps.seen(), before, ROUNDS, ROUND_TRIP)


def test_the_messages_of_many_tasks_do_not_grow(tmp_path: Path) -> None:
    with tapped(tmp_path) as taps, taps.client.new_session("many") as session:
        for number in range(8):
            inc(number)
        session.submit()
        session.wait_all()
        before = taps.seen()

        outputs = [inc(number).output for number in range(TASKS)]
        for output in outputs:
            output.keep()
        session.submit()
        session.wait_all()
        values = [instance.load() for instance in session.fetch_all(outputs)]

        assert values == [number + 1 for number in range(TASKS)]
        check(taps.seen(), before, TASKS, MANY)
