"""What is thrown at the cluster: a process is killed or stopped, or a link is cut, for seconds."""

from __future__ import annotations

import signal
import time
from collections import Counter
from datetime import UTC, datetime
from random import Random

from attrs import Factory, define

from bench.soak.cluster import Cluster, Member, send
from bench.soak.cuts import CUT_SECONDS, Network

WEIGHTS = {"server": 2, "governor": 2, "executor": 5, "client": 2, "network": 5}
"""What can be hit, and how often."""

STOPPED_SECONDS = (0.2, 5.0)
"""How long a process is stopped: shorter than the silence that any daemon allows."""


@define(eq=False)
class Faults:
    """Throws faults, and heals what they have done."""

    cluster: Cluster
    random: Random
    targets: list[str]  # some of WEIGHTS
    network: Network | None = None  # if the machines are apart
    thrown: Counter[str] = Factory(Counter)
    log: list[str] = Factory(list)  # each with its time
    strange: list[str] = Factory(list)  # members that ended by themselves

    def throw(self) -> None:
        """One fault."""
        target = self.random.choices(self.targets, [WEIGHTS[one] for one in self.targets])[0]
        if target == "network":
            self._cut()
        else:
            self._hit(target)

    def _cut(self) -> None:
        assert self.network is not None
        cut = self.network.drawn(self.random)
        self.network.cut(cut, time.monotonic() + self.random.uniform(*CUT_SECONDS))
        self._note(cut.name, str(cut.ends))

    def _hit(self, target: str) -> None:
        """Kills or stops a process."""
        kill = self.random.random() < 0.5
        until = time.monotonic() + self.random.uniform(*STOPPED_SECONDS)
        name = f"{target} {'killed' if kill else 'stopped'}"
        if target == "executor":
            executors = self.cluster.executors()
            if not executors:
                return
            pid = self.random.choice(executors)
            where = str(pid)
            send(pid, signal.SIGKILL if kill else signal.SIGSTOP)
            if not kill:
                self.cluster.stopped[pid] = until
        else:
            member = self._member(target)
            if not member.is_there() or not self.cluster.has_server():
                return  # a server that never gets ready would be no test of anything
            where = member.name
            if kill:
                member.send(signal.SIGKILL)
                member.wait()
                member.process = None
                member.stopped_until = 0.0
            else:
                member.send(signal.SIGSTOP)
                member.stopped_until = until
        self._note(name, where)

    def _note(self, name: str, where: str) -> None:
        self.thrown[name] += 1
        self.log.append(f"{datetime.now(UTC):%H:%M:%S.%f} {name}: {where}")

    def heal(self, now: float) -> None:
        """Lets go on what was stopped or cut for long enough, and starts what has ended."""
        if self.network is not None:
            self.network.heal(now)
        for pid, until in list(self.cluster.stopped.items()):
            if until <= now:
                send(pid, signal.SIGCONT)
                del self.cluster.stopped[pid]
        for member in self.cluster.members():
            if member.is_there():
                if member.stopped_until and member.stopped_until <= now:
                    member.send(signal.SIGCONT)
                    member.stopped_until = 0.0
                continue
            if member.process is not None and not member.has_found_no_server():
                status = member.process.returncode
                self.strange.append(f"{member.name} ended by itself with status {status}")
            member.stopped_until = 0.0
            member.process = None
            if member is self.cluster.server or self.cluster.has_server():
                member.live()

    def _member(self, target: str) -> Member:
        if target == "server":
            return self.cluster.server
        members = self.cluster.governors if target == "governor" else self.cluster.clients
        return self.random.choice(members)
