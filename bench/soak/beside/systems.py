"""The processes of each system: a server and two nodes with two cpus each.

A system starts them, says which can be hit, and starts again what has ended.
"""

from __future__ import annotations

import signal
import socket
from abc import ABC, abstractmethod
from pathlib import Path
from random import Random

from attrs import Factory, define

from bench.soak.beside.processes import kill_all, words
from bench.soak.cluster import Member, Places, descendants, new_cluster, secret_in, send
from bench.soak.cuts import Network

NODES = 2
CPUS = 2


@define(eq=False)
class System(ABC):
    """A cluster of one of the systems. Most of its members are daemons themselves."""

    name: str
    address: str
    members: list[Member]  # the server is the first, the others are nodes
    settings: dict[str, str] = Factory(dict)  # variables in the environment of its clients
    network: Network | None = None  # if its members are on machines of their own
    stopped: dict[int, float] = Factory(dict)  # processes that are stopped, and until when

    @abstractmethod
    def is_worker(self, pid: int) -> bool:
        """Whether a process below a node runs tasks."""

    def is_ready(self, member: Member) -> bool:
        """Whether a member takes part."""
        return member.is_ready()

    def daemon(self, member: Member) -> int | None:
        """The process of a member, unless it has ended."""
        return member.pid if member.is_there() else None

    def is_whole(self) -> bool:
        return all(self.is_ready(member) for member in self.members)

    def pids(self, part: str) -> list[int]:
        """The processes of a kind that can be hit."""
        server, *nodes = map(self.daemon, self.members)
        there = [pid for pid in nodes if pid is not None]
        if part == "server":
            return [] if server is None else [server]
        if part == "node":
            return there
        below = [child for pid in there for child in descendants(pid)]
        return [pid for pid in below if self.is_worker(pid)]

    def daemons(self) -> list[int]:
        return [*self.pids("server"), *self.pids("node")]

    def children(self) -> set[int]:
        """Processes whose status is asked for here."""
        return {member.pid for member in self.members if member.process is not None}

    def kill(self, part: str, pid: int) -> None:
        """Kills a worker alone, and a node with all that it has started."""
        if part == "node":
            kill_all([pid])
        else:
            send(pid, signal.SIGKILL)
        self.stopped.pop(pid, None)

    def heal(self, now: float) -> None:
        """Lets go on what was stopped or cut for long enough, and starts what has ended."""
        if self.network is not None:
            self.network.heal(now)
        for pid, until in list(self.stopped.items()):
            if until <= now:
                send(pid, signal.SIGCONT)
                del self.stopped[pid]
        for member in self.members:
            if self.daemon(member) is None:
                self.revive(member)
            if member is self.members[0] and not self.is_ready(member):
                return  # nodes begin when there is a server

    def revive(self, member: Member) -> None:
        """Starts a member, for the first time or anew."""
        member.live()


@define(eq=False)
class Rain(System):
    """A server with a journal, and governors."""

    def is_worker(self, pid: int) -> bool:
        return True  # also the process from which executors are forked


def rain(folder: Path, port: int, places: Places) -> System:
    cluster = new_cluster(folder, port, Random(0), places, clients=0)
    members = cluster.members()
    for member in members:
        member.checked = False
    return Rain("rain", f"{places.server.address}:{port}", members, secret_in(folder))


@define(eq=False)
class Dask(System):
    """A scheduler, and workers with their nannies."""

    def is_worker(self, pid: int) -> bool:
        """A process that has registered: one that starts for seconds has nothing to lose yet."""
        return "spawn_main" in words(pid) and is_connected(pid, self.address)

    def is_ready(self, member: Member) -> bool:
        if member is self.members[0]:
            return member.is_there() and listens(self.address)
        return member.is_there() and member.has_said("Registered to:")


def dask(folder: Path, port: int, places: Places) -> System:
    address = f"{places.server.address}:{port}"
    settings = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1000000"}
    scheduler = Member(
        "server",
        [
            *("-m", "distributed.cli.dask_scheduler", "--host", places.server.address),
            *("--port", str(port), "--no-dashboard"),
        ],
        folder,
        settings=settings,
        machine=places.server,
    )
    workers = [
        Member(
            f"node-{number}",
            [
                *("-m", "distributed.cli.dask_worker", f"tcp://{address}", "--nworkers", str(CPUS)),
                *("--nthreads", "1", "--host", machine.address, "--no-dashboard"),
                *("--local-directory", "{life}-work"),
            ],
            folder,
            settings=settings,
            machine=machine,
        )
        for number, machine in enumerate(places.governors)
    ]
    return Dask("dask", f"tcp://{address}", [scheduler, *workers])


def listens(address: str) -> bool:
    """Whether somebody takes connections there."""
    host, _, port = address.removeprefix("tcp://").rpartition(":")
    with socket.socket() as tried:
        tried.settimeout(1.0)
        return not tried.connect_ex((host, int(port)))


def _connections_of(pid: int) -> list[str]:
    """Those of the machine of a process, in the words of its kernel."""
    try:
        return Path(f"/proc/{pid}/net/tcp").read_text(encoding="ascii").splitlines()[1:]
    except OSError:
        return []  # it has ended meanwhile


def is_connected(pid: int, address: str) -> bool:
    """Whether a process has a connection to this address."""
    port, established = int(address.rpartition(":")[2]), "01"
    inodes: set[str] = set()
    for line in _connections_of(pid):
        fields = line.split()
        if fields[3] == established and int(fields[2].rpartition(":")[2], 16) == port:
            inodes.add(f"socket:[{fields[9]}]")
    try:
        return any(str(one.readlink()) in inodes for one in Path(f"/proc/{pid}/fd").iterdir())
    except (FileNotFoundError, ProcessLookupError):
        return False  # it has ended meanwhile
