"""The processes of a Ray cluster: `ray start` begins them and ends, so they are orphans."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from attrs import Factory, define

from bench.soak.beside.processes import kill_all, words
from bench.soak.beside.systems import CPUS, System, listens
from bench.soak.cluster import Member, Places, descendants

PART = "RAIN_SOAK_PART"
"""A variable in the environment of all that a member's `ray start` begins."""

RAYLET = "/raylet/raylet"
CONTROL = "/gcs/gcs_server"
MEMORY = 500_000_000
"""Bytes of the object store of each node."""


@define(eq=False)
class Ray(System):
    """A head without cpus, whose control store (GCS) writes to a disk, and nodes.

    The server is the control store. It is started again with its own command, as Ray's own tests
    do. The raylet of the head is never hit: the program that uses Ray cannot go on without it.
    """

    control: subprocess.Popen[bytes] | None = None  # unless it lives its first life
    command: list[str] = Factory(list)  # of the control store
    environment: dict[str, str] = Factory(dict)  # of the control store
    known: dict[str, int] = Factory(dict)  # the daemon of each member

    def is_worker(self, pid: int) -> bool:
        title = words(pid)
        return title.startswith("ray::") and "Agent" not in title

    def is_ready(self, member: Member) -> bool:
        if member.is_there() or self.daemon(member) is None:  # `ray start` is not done
            return False
        return member is not self.members[0] or listens(self.address)

    def daemon(self, member: Member) -> int | None:
        program = CONTROL if member is self.members[0] else RAYLET
        pid = self.known.get(member.name)
        if pid is None or program not in words(pid):
            found = [one for one in parts(member.name) if program in words(one)]
            if not found:
                return None
            pid = self.known[member.name] = found[0]
        if program == CONTROL and not self.command:
            place = Path("/proc") / str(pid)
            self.command = (place / "cmdline").read_bytes().decode().split("\0")[:-1]
            pairs = (place / "environ").read_bytes().decode().split("\0")[:-1]
            self.environment = dict(pair.split("=", 1) for pair in pairs)
        return pid

    def daemons(self) -> list[int]:
        raylets = [pid for pid in parts(self.members[0].name) if RAYLET in words(pid)]
        return [*super().daemons(), *raylets]

    def children(self) -> set[int]:
        more = set[int]() if self.control is None else {self.control.pid}
        return super().children() | more

    def kill(self, part: str, pid: int) -> None:
        if part == "node":  # also its monitor of logs, which is not below the raylet
            name = next(name for name, known in self.known.items() if known == pid)
            kill_all(parts(name))
        else:
            super().kill(part, pid)

    def revive(self, member: Member) -> None:
        if member.is_there():
            return  # `ray start` is at work
        if member is not self.members[0] or not self.command:
            member.live()
            return
        if self.control is not None:
            self.control.wait()
        log = (member.folder / "control.log").open("ab")
        with log:
            self.control = subprocess.Popen(
                [*self.members[0].machine.command, *self.command],
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )


def parts(name: str) -> list[int]:
    """What `ray start` has begun for a member, as far as it shows its environment."""
    mark, found = f"{PART}={name}".encode(), list[int]()
    for pid in descendants(os.getpid()):
        try:
            if mark in (Path("/proc") / str(pid) / "environ").read_bytes().split(b"\0"):
                found.append(pid)
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def ray(folder: Path, port: int, places: Places) -> System:
    where = f"{places.server.address}:{port}"
    shared = {
        "RAY_AUTH_MODE": "disabled",
        "RAY_gcs_storage": "rocksdb",
        "RAY_gcs_storage_path": f"{folder}/gcs",
    }
    start: tuple[str, ...] = ("-m", "ray.scripts.scripts", "start", "--disable-usage-stats")
    start = (*start, "--object-store-memory", str(MEMORY))
    head = Member(
        "server",
        [
            *(*start, "--head", "--port", str(port), "--num-cpus", "0"),
            *("--include-dashboard", "false", "--temp-dir", f"{folder}/r"),
            *("--node-ip-address", places.server.address),
        ],
        folder,
        settings={**shared, PART: "server"},
        machine=places.server,
    )
    nodes = [
        Member(
            f"node-{number}",
            [
                *(*start, "--address", where, "--num-cpus", str(CPUS)),
                # not that of the head
                *(
                    "--node-ip-address",
                    machine.address if machine.name else f"127.0.0.{number + 2}",
                ),
            ],
            folder,
            settings={**shared, PART: f"node-{number}"},
            machine=machine,
        )
        for number, machine in enumerate(places.governors)
    ]
    return Ray("ray", where, [head, *nodes])
