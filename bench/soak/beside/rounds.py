"""One fault on one system: a client works while its cluster is hit, and must come to an end."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable
from math import inf
from pathlib import Path
from random import Random

from attrs import define, field

from bench.soak.beside.plan import LINK, Fault, plan
from bench.soak.beside.processes import GLANCE_SECONDS, bury_orphans, end_all, kill_all
from bench.soak.beside.systems import System
from bench.soak.beside.table import Outcome
from bench.soak.cluster import Member, send

START_SECONDS = 90.0

NewSystem = Callable[[Path], System]


class NoStart(Exception):
    """A cluster does not start."""


@define(eq=False)
class Round:
    """The cluster and the client of a round, and those before them."""

    new_system: NewSystem
    folder: Path
    random: Random
    limit: float  # for one work, in seconds
    outcome: Outcome
    client: Member
    system: System = field(init=False)
    clusters: int = 0

    def start(self) -> None:
        """Starts a cluster, and waits until all of it takes part."""
        self.clusters += 1
        place = self.folder / str(self.clusters)
        place.mkdir()
        self.system = self.new_system(place)
        late = time.monotonic() + START_SECONDS
        while not self.system.is_whole():
            if time.monotonic() > late:
                raise NoStart(f"the cluster does not start within {START_SECONDS:.0f} seconds")
            self.heal(0.0)
            time.sleep(GLANCE_SECONDS)
        self.client.settings = self.system.settings
        self.client.machine = self.system.members[0].machine
        self.client.arguments = [
            *("-m", "bench.soak.beside.at_work", self.system.name, self.system.address),
            *(f"{self.random.randrange(10**6)}{{number}}", str(self.folder)),
        ]

    def heal(self, now: float) -> None:
        self.system.heal(now)
        bury_orphans(self.children())

    def children(self) -> set[int]:
        more = set[int]() if self.client.process is None else {self.client.pid}
        return self.system.children() | more

    def throw(self, fault: Fault) -> bool:
        """Throws a fault, unless there is nothing that it could hit."""
        if fault.part == LINK:
            return self._cut(fault)
        pids = self.system.pids(fault.part)
        if not pids or not (fault.part == "worker" or self.system.is_whole()):
            return False  # a cluster that never gets whole would be no test of anything
        pid = fault.victim(pids)
        if fault.stopped:
            send(pid, signal.SIGSTOP)
            self.system.stopped[pid] = time.monotonic() + fault.stopped
        else:
            self.system.kill(fault.part, pid)
        self.outcome.thrown += 1
        return True

    def _cut(self, fault: Fault) -> bool:
        network = self.system.network
        if network is None or not self.system.is_whole():
            return False
        network.cut(network.drawn(Random(fault.choice)), time.monotonic() + fault.stopped)
        self.outcome.thrown += 1
        return True

    def said(self) -> list[str]:
        """All lines of the clients so far."""
        return (self.folder / "client.out").read_text(encoding="utf-8").splitlines()

    def is_hung(self, now: float) -> bool:
        """Whether the client has said nothing for longer than work may take."""
        return now - (self.folder / "client.out").stat().st_mtime > self.limit

    def end_hung(self) -> None:
        """Ends a client and a cluster that do not go on."""
        kill_all([self.client.pid])
        self.client.wait()
        with (self.folder / "client.out").open("a", encoding="utf-8") as output:
            output.write(f"\n{json.dumps({'hung': True})}\n")
        self.end()

    def end(self) -> None:
        """Ends all processes."""
        if self.system.network is not None:
            self.system.network.heal(inf)
        end_all(self.system.daemons(), self.children())

    def play(self, faults: list[Fault], seconds: float) -> None:
        """Throws faults for that long, and lets the work come to an end."""
        self.start()
        self.client.live()
        due = time.monotonic()
        end = due + seconds
        while True:
            now = time.monotonic()
            over = now >= end
            self.heal(float("inf") if over else now)
            if over:
                (self.folder / "stop").touch()
            elif faults and now >= due + faults[0].after and self.throw(faults[0]):
                due, faults = now, faults[1:]
            if self.client.is_there() and self.is_hung(time.time()):
                self.end_hung()
                if not over:
                    self.start()
            if not self.client.is_there():
                if over:
                    return
                self.client.live()
            time.sleep(GLANCE_SECONDS)


def played(
    new_system: NewSystem, outcome: Outcome, folder: Path, seed: int, seconds: float, limit: float
) -> None:
    """Plays one round, and adds what came of it."""
    folder.mkdir()
    client = Member("client", [], folder)
    course = Round(new_system, folder, Random(seed), limit, outcome, client)
    try:
        course.play(plan(outcome.fault, seed, seconds), seconds)
    except NoStart as error:
        outcome.errors[str(error)] += 1
    finally:
        if client.process is not None:
            kill_all([client.pid])
        course.end()
    if client.lives:
        outcome.add(course.said())
    outcome.renewed = course.clusters - 1
