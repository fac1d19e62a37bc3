"""The processes of a soak: a server with a journal, governors, clients, and what they start."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from random import Random

from attrs import Factory, define, frozen

from bench.machines import HERE, Machine
from rain.common.secret_file import VARIABLE, make_secret_file

MARK = "RAIN_SOAK"
"""A variable in the environment of all processes of a soak, by which its leftovers are found."""

END_SECONDS = 60.0

SECRET = "secret"
"""The file with the secret of a cluster, in its folder."""

GOVERNOR_TIMEOUT, SERVER_TIMEOUT = "6", "7"
"""Seconds of silence that are borne between machines: less than the longest cuts take."""

SERVER_APART = ("--governor-timeout", GOVERNOR_TIMEOUT, "--client-grace", "30")
"""A client may be cut off, stopped and cut off again before it has come back."""

GOVERNOR_APART = ("--server-timeout", SERVER_TIMEOUT, "--no-share-store")
"""How governors are started on machines of their own, whose files they share."""

PATIENCE = "60"
"""Seconds for which governors wait at their start: their way to the server may be cut."""


@define(eq=False)
class Member:
    """One process of the cluster and those before it in its place."""

    name: str
    arguments: list[str]  # of each life, after the interpreter
    folder: Path
    checked: bool = True  # with the consistency checks of the daemons
    settings: dict[str, str] = Factory(dict)  # variables of its environment
    machine: Machine = HERE
    lives: int = 0
    process: subprocess.Popen[bytes] | None = None
    errors_before: int = 0  # bytes of the lives before
    stopped_until: float = 0.0  # 0 unless it is stopped by a signal

    def live(self) -> None:
        """Starts it, for the first time or anew."""
        self.lives += 1
        arguments = [
            word.format(life=f"{self.folder}/{self.name}-{self.lives}", number=self.lives)
            for word in self.arguments
        ]
        with (
            (self.folder / f"{self.name}.out").open("ab") as output,
            (self.folder / f"{self.name}.err").open("ab") as errors,
        ):
            self.errors_before = errors.tell()
            self.process = subprocess.Popen(
                [*self.machine.command, sys.executable, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                env={
                    **os.environ,
                    MARK: str(self.folder),
                    "RAIN_DEBUG_MODE": "01"[self.checked],
                    **self.settings,
                },
                cwd=Path(__file__).parents[2],
            )

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def is_there(self) -> bool:
        """Whether it runs. One that was killed may wait for its next life."""
        return self.process is not None and self.process.poll() is None

    def is_ready(self) -> bool:
        """Whether it runs and has said so. One that is stopped is ready, too."""
        return self.is_there() and (self.folder / f"{self.name}-{self.lives}-ready").exists()

    def has_said(self, text: str) -> bool:
        """Whether its present life has written this to its errors."""
        errors = (self.folder / f"{self.name}.err").read_bytes()
        return text.encode() in errors[self.errors_before :]

    def has_found_no_server(self) -> bool:
        """Whether it has ended because no server was there when it began, which is no fault."""
        errors = (self.folder / f"{self.name}.err").read_text(encoding="utf-8").splitlines()
        return bool(errors) and errors[-1].endswith("is the server running?")

    def wait(self) -> int:
        assert self.process is not None
        return self.process.wait(END_SECONDS)

    def send(self, number: int) -> None:
        assert self.process is not None
        self.process.send_signal(number)


@frozen
class Places:
    """Which machine each member is on."""

    server: Machine
    clients: Machine
    governors: list[Machine]

    @classmethod
    def here(cls, governors: int) -> Places:
        """All on this machine."""
        return cls(HERE, HERE, [HERE] * governors)

    @classmethod
    def apart(cls, machines: list[Machine], governors: int) -> Places:
        """On three machines or more; governors share theirs if there are too few."""
        server, clients, *others = machines
        return cls(server, clients, [others[n % len(others)] for n in range(governors)])

    @property
    def are_apart(self) -> bool:
        return self.server is not HERE


@define(eq=False)
class Cluster:
    """All members by what they are."""

    folder: Path
    port: int
    server: Member
    governors: list[Member]
    clients: list[Member]
    stopped: dict[int, float] = Factory(dict)  # executors that are stopped, and until when

    def members(self) -> list[Member]:
        return [self.server, *self.governors, *self.clients]

    def has_server(self) -> bool:
        """Whether a server runs and is ready. One that is stopped is, too."""
        return self.server.is_ready()

    def executors(self) -> list[int]:
        """Processes that governors have started."""
        return [
            child
            for governor in self.governors
            if governor.is_there()
            for child in descendants(governor.pid)
        ]


def new_cluster(folder: Path, port: int, random: Random, places: Places, clients: int) -> Cluster:
    """The members, none of which lives yet."""
    address = f"{places.server.address}:{port}"
    make_secret_file(folder / SECRET)
    settings = secret_in(folder)
    server = Member(
        "server",
        [
            *("-m", "rain", "server", "--listen", address, "--no-http", "--no-event-log"),
            *("--journal", f"{folder}/journal", "--crash-limit", "1000000"),
            *(SERVER_APART if places.are_apart else ()),
            *("--logdir", f"{folder}/server-logs", "--ready-file", "{life}-ready"),
        ],
        folder,
        settings=settings,
        machine=places.server,
    )
    governors = [
        Member(
            f"governor-{number}",
            [
                *("-m", "rain", "governor", address, "--cpus", "2"),
                *("--listen", f"{machine.address}:0", "--wait-for-server", PATIENCE),
                *(GOVERNOR_APART if places.are_apart else ()),
                *("--workdir", "{life}-work", "--logdir", "{life}-logs"),
                *("--ready-file", "{life}-ready"),
            ],
            folder,
            settings=settings,
            machine=machine,
        )
        for number, machine in enumerate(places.governors)
    ]
    return Cluster(
        folder,
        port,
        server,
        governors,
        [
            Member(
                f"client-{number}",
                [
                    *("-m", "bench.soak.at_work", address),
                    *(f"{random.randrange(10**6)}{{number}}", str(folder)),
                ],
                folder,
                settings=settings,
                machine=places.clients,
            )
            for number in range(clients)
        ],
    )


def secret_in(folder: Path) -> dict[str, str]:
    """What names the secret of a cluster to its members."""
    return {VARIABLE: str(folder / SECRET)}


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def descendants(pid: int) -> list[int]:
    """All processes below this one."""
    found: list[int] = []
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text(encoding="ascii").split():
                found += [int(child), *descendants(int(child))]
    except (FileNotFoundError, ProcessLookupError):
        pass  # it has ended meanwhile
    return found


def marked(folder: Path) -> dict[int, str]:
    """Processes of this soak that run, with their commands."""
    mark = f"{MARK}={folder}".encode()
    found = {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (place / "environ").read_bytes().split(b"\0"):
                words = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                found[int(place.name)] = words[:120]
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
    return found


def send(pid: int, number: signal.Signals) -> None:
    """A signal to a process that may have ended."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def wait_until_gone(folder: Path) -> dict[int, str]:
    """Waits until no process of this soak runs; what still runs in the end."""
    late = time.monotonic() + END_SECONDS
    while (left := marked(folder)) and time.monotonic() < late:
        time.sleep(0.5)
    return left
