"""What is thrown at the cluster: a random process is killed, or stopped for some seconds."""

from __future__ import annotations

import signal
import time
from collections import Counter
from random import Random

from attrs import Factory, define

from bench.soak.cluster import Cluster, Member, send

TARGETS = ("server", "governor", "executor", "client")
WEIGHTS = (2, 2, 5, 2)
STOPPED_SECONDS = (0.2, 5.0)
"""How long a process is stopped: shorter than the silence that any daemon allows."""


@define(eq=False)
class Faults:
    """Throws faults, and heals what they have done."""

    cluster: Cluster
    random: Random
    thrown: Counter[str] = Factory(Counter)
    strange: list[str] = Factory(list)  # members that ended by themselves

    def throw(self) -> None:
        """One fault."""
        target = self.random.choices(TARGETS, WEIGHTS)[0]
        kill = self.random.random() < 0.5
        until = time.monotonic() + self.random.uniform(*STOPPED_SECONDS)
        name = f"{target} {'killed' if kill else 'stopped'}"
        if target == "executor":
            executors = self.cluster.executors()
            if not executors:
                return
            pid = self.random.choice(executors)
            send(pid, signal.SIGKILL if kill else signal.SIGSTOP)
            if not kill:
                self.cluster.stopped[pid] = until
        else:
            member = self._member(target)
            if not member.is_there() or not self.cluster.has_server():
                return  # a server that never gets ready would be no test of anything
            if kill:
                member.send(signal.SIGKILL)
                member.wait()
                member.process = None
                member.stopped_until = 0.0
            else:
                member.send(signal.SIGSTOP)
                member.stopped_until = until
        self.thrown[name] += 1

    def heal(self, now: float) -> None:
        """Lets go on what was stopped for long enough, and starts what has ended."""
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
