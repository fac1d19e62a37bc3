"""`python -m bench life`: clients and governors come and go, and nothing may grow or stay."""

from __future__ import annotations

import json
import signal
import sys
import time
from collections import Counter
from math import inf
from pathlib import Path
from random import Random
from tempfile import mkdtemp

import click
from attrs import Factory, define

from bench.life.samples import Series, look
from bench.soak.cluster import Cluster, Member, free_port, wait_until_gone
from bench.soak.command import end
from rain.client import Client

GLANCE_SECONDS = 1.0

EVENT_SECONDS = (5.0, 20.0)
"""Time between two events: a governor joins, drains or dies, or a program of clients is killed."""

START_SECONDS = 60.0

MOST_GUESTS = 2

IDLE = ("--idle-seconds", "5")
"""Executors that nobody needs end soon, so that they are not taken for a leak of descriptors."""

IDLE_SECONDS = 60.0
"""How long it may take until all is as before when the clients have gone."""

SPARE_DESCRIPTORS = 20
"""A governor keeps an executor for each cpu, and the server the clients that tasks there were."""

SESSIONS_OF_A_VISIT = 25
VISITS_AT_ONCE = 2
VISITS_OF_A_PROGRAM = 6


@define(eq=False)
class Life:
    """A cluster, and the governors and clients that come and go."""

    cluster: Cluster
    http: str
    random: Random
    programs: int
    series: Series = Factory(Series)
    happened: Counter[str] = Factory(Counter)
    guests: list[Member] = Factory(list)
    strange: list[str] = Factory(list)
    _read: dict[str, int] = Factory(dict)
    _named: int = 0

    @property
    def resident(self) -> Member:
        """The governor that stays, and is looked at."""
        return self.cluster.governors[0]

    def begin(self) -> None:
        """Starts the daemons, and waits until both are there."""
        self.cluster.server.live()
        late = time.monotonic() + START_SECONDS
        while not self.cluster.has_server():
            self._check(late)
        self.resident.live()
        while not (self._work() / "data").exists():
            self._check(late)

    def _check(self, late: float) -> None:
        if time.monotonic() > late:
            raise click.ClickException(f"no cluster has started: {self.cluster.folder}")
        time.sleep(GLANCE_SECONDS / 10)

    def _work(self) -> Path:
        return self.cluster.folder / f"{self.resident.name}-{self.resident.lives}-work"

    def run(self, seconds: float, sessions: float = inf) -> None:
        """Lets them come and go for that long, or until that number of sessions has ended."""
        over = time.monotonic() + seconds
        due = time.monotonic() + EVENT_SECONDS[0]
        while (now := time.monotonic()) < over and self.happened["sessions"] < sessions:
            self._replace_programs()
            if now >= due:
                self._event()
                due = now + self.random.uniform(*EVENT_SECONDS)
            self._count()
            self.series.add(self.happened["sessions"], self.look())
            time.sleep(GLANCE_SECONDS)

    def look(self) -> dict[str, float]:
        folder, resident = self.cluster.folder, self.resident
        logs = folder / f"{resident.name}-{resident.lives}-logs"
        return look(
            self.cluster.server.pid, resident.pid, self._work(), logs, folder / "journal", self.http
        )

    def _replace_programs(self) -> None:
        clients = self.cluster.clients
        for program in [one for one in clients if not one.is_there()]:
            clients.remove(program)
            status = program.wait()
            if status not in {0, -signal.SIGKILL}:
                self.strange.append(f"{program.name} has ended with status {status}")
        while len(clients) < self.programs:
            seed = self.random.randrange(10**6)
            words = map(str, (self.cluster.port, seed, VISITS_OF_A_PROGRAM, SESSIONS_OF_A_VISIT))
            program = self._new("client", ["-m", "bench.life.visits", *words, str(VISITS_AT_ONCE)])
            clients.append(program)
            self.happened["programs"] += 1

    def _new(self, what: str, arguments: list[str]) -> Member:
        self._named += 1
        member = Member(f"{what}-{self._named}", arguments, self.cluster.folder, checked=False)
        member.live()
        return member

    def _event(self) -> None:
        present = [guest for guest in self.guests if guest.is_there()]
        choices = ["joins"] * (len(present) < MOST_GUESTS) + ["drains", "dies"] * bool(present)
        what = self.random.choice([*choices, "client"])
        if what == "client":
            victim = self.random.choice(self.cluster.clients)
            victim.send(signal.SIGKILL)
            self.happened["programs killed"] += 1
            return
        self.happened[f"governor {what}"] += 1
        if what == "joins":
            address = f"127.0.0.1:{self.cluster.port}"
            folders = ("--workdir", "{life}-work", "--logdir", "{life}-logs")
            words = ["-m", "rain", "governor", address, "--cpus", "1", *folders]
            self.guests.append(self._new("guest", words))
        else:
            how = signal.SIGTERM if what == "drains" else signal.SIGKILL
            self.random.choice(present).send(how)

    def _count(self) -> None:
        """Reads what the clients have said since the last time."""
        for file in self.cluster.folder.glob("client-*.out"):
            with file.open("rb") as said:
                said.seek(self._read.get(file.name, 0))
                for line in said:
                    if not line.endswith(b"\n"):
                        break
                    self._read[file.name] = self._read.get(file.name, 0) + len(line)
                    told = json.loads(line)
                    self.happened["clients"] += 1
                    self.happened["sessions"] += told["sessions"]
                    self.strange += told["wrong"]

    def leave(self, before: dict[str, float]) -> list[str]:
        """Ends the clients and the guests; what is then not as it was before they came."""
        for member in [*self.cluster.clients, *self.guests]:
            if member.is_there():
                member.send(signal.SIGKILL)
            member.wait()
        self.cluster.clients.clear()
        with Client("127.0.0.1", self.cluster.port) as client:
            for session in client.sessions():  # of clients that were killed
                client.remove_session(session.name)
        late = time.monotonic() + IDLE_SECONDS
        while (left := self._left(before)) and time.monotonic() < late:
            time.sleep(GLANCE_SECONDS)
        return left

    def _left(self, before: dict[str, float]) -> list[str]:
        folders = [self._work() / part for part in ("data", "tasks")]
        folders.append(self.cluster.folder / "journal" / "uploads")
        after = self.look()
        return [
            *(f"{path} is left" for folder in folders for path in folder.iterdir()),
            *(
                f"{name}: {before[name]:.0f} before, and {after[name]:.0f} in the end"
                for name in ("server: descriptors", "governor: descriptors")
                if after[name] > before[name] + SPARE_DESCRIPTORS
            ),
        ]


@click.command()
@click.option("--minutes", default=5.0, show_default=True, type=click.FloatRange(min=0.01))
@click.option("--sessions", type=click.IntRange(min=1), help="End after this many of them.")
@click.option("--seed", default=1, show_default=True)
@click.option("--programs", default=2, show_default=True, type=click.IntRange(min=1))
def command(minutes: float, sessions: int | None, seed: int, programs: int) -> None:
    """Let clients and governors come and go; memory, descriptors and files must not grow."""
    folder = Path(mkdtemp(prefix="rain-life-"))
    life = new_life(folder, Random(seed), programs)
    left: list[str] = []
    try:
        life.begin()
        before = life.look()
        life.run(minutes * 60, sessions or inf)
        left += life.leave(before)
        after = life.look()
        left += end(life.cluster)
    finally:
        for member in [*life.cluster.members(), *life.guests]:
            if member.is_there():
                member.send(signal.SIGKILL)
                member.wait()
    left += [f"still runs: {words}" for words in wait_until_gone(folder).values()]
    left += [f"{path} is left" for path in folder.glob("governor-*-work")]
    for name, count in sorted(life.happened.items()):
        click.echo(f"{name:<32}{count:>8}")
    for line in life.series.rows():
        click.echo(line)
    for name in ("server: descriptors", "governor: descriptors"):
        click.echo(f"{name}, before and after: {before[name]:.0f} and {after[name]:.0f}")
    wrong = [*life.strange, *left, *life.series.leaks()]
    for line in wrong:
        click.echo(line)
    click.echo(f"logs, journal and output: {folder}")
    sys.exit(bool(wrong))


def new_life(folder: Path, random: Random, programs: int) -> Life:
    """A cluster that does not run yet."""
    port, http = free_port(), f"127.0.0.1:{free_port()}"
    address = f"127.0.0.1:{port}"
    server = Member(
        "server",
        [
            *("-m", "rain", "server", "--listen", address, "--http-listen", http),
            *("--no-event-log", "--journal", f"{folder}/journal", "--client-grace", "5"),
            *("--logdir", f"{folder}/server-logs", "--ready-file", "{life}-ready"),
        ],
        folder,
        checked=False,
    )
    resident = Member(
        "governor-0",
        [
            *("-m", "rain", "governor", address, "--cpus", "2"),
            *("--workdir", "{life}-work", "--logdir", "{life}-logs", *IDLE),
        ],
        folder,
        checked=False,
    )
    return Life(Cluster(folder, port, server, [resident], []), http, random, programs)
