"""Clusters of daemons that only play their part, and a look at what is left of them."""

import json
import sys
from pathlib import Path
from typing import Any

from attrs import field, frozen

from rain.start import processes
from rain.start.clusters import Index, read_cluster
from rain.start.ending import end_processes
from rain.start.governors import Governors, LocalGovernors, RemoteGovernors
from rain.start.plan import Settings
from rain.start.remote import RemoteAccess
from rain.start.start import StartedCluster, start_cluster

FOLDER = Path(__file__).parent
FAKE_DAEMON = FOLDER / "fake_daemon.py"
LOCAL_SSH = FOLDER / "local_ssh"
ROOT = FOLDER.parent.parent
RAIN = (sys.executable, "-m", "rain")


def run_prefix(**does: str) -> tuple[str, ...]:
    """Puts players in the place of daemons; an underscore of a name stands for a hyphen."""
    script = {name.replace("_", "-"): what for name, what in does.items()}
    return (sys.executable, str(FAKE_DAEMON), json.dumps(script))


@frozen
class World:
    """A folder for the logs, the work and the memory of one test's clusters."""

    folder: Path
    copied: bool = False  # the governors of this machine are copies of one process
    logs: Path = field(init=False)
    index: Index = field(init=False)

    def __attrs_post_init__(self) -> None:
        # A name that every shell would take apart.
        object.__setattr__(self, "logs", self.folder / "it's $a log")
        object.__setattr__(self, "index", Index(self.folder / "index"))

    def access(self, init: str = "") -> RemoteAccess:
        return RemoteAccess((str(LOCAL_SSH),), ROOT, init, RAIN)

    def settings(self, governors: Governors, /, **does: str) -> Settings:
        if self.copied:
            return Settings(governors, run_prefix(**does), self.logs)
        return Settings(governors, RAIN, self.logs, run_prefix=run_prefix(**does))

    def start(self, count: int, timeout: float = 30.0, **does: str) -> StartedCluster:
        """Starts that many governors here."""
        settings = self.settings(LocalGovernors((1,) * count), **does)
        return start_cluster(settings, self.access(), timeout, self.index)

    def start_remote(
        self, *hosts: str, timeout: float = 30.0, init: str = "", **does: str
    ) -> StartedCluster:
        """Starts a governor on each host."""
        settings = self.settings(RemoteGovernors(hosts), **does)
        return start_cluster(settings, self.access(init), timeout, self.index)

    def notes(self, name: str) -> dict[str, Any]:
        """What a player has written down."""
        notes: dict[str, Any] = json.loads((self.logs / f"{name}.notes").read_text())
        return notes

    def left(self) -> list[str]:
        """The players that still run."""
        found: list[str] = []
        for file in sorted(self.logs.glob("*.notes")):
            notes = json.loads(file.read_text())
            for key in ("pid", "child"):
                if key in notes:
                    stat = processes.stat(notes[key])
                    if stat is not None and stat.runs:
                        found.append(f"{file.stem} {key}")
        return found

    def end(self) -> None:
        """Ends whatever the test has left running."""
        cluster = read_cluster(self.logs)
        if cluster is not None:
            end_processes([member.mark for member in cluster.daemons], 0.0)
