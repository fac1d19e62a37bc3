"""Records the clusters that were started, so that they can be found and ended.

`cluster.json` in the log folder describes a cluster. A folder of the user has one small file for
each cluster, which contains the path of that log folder.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from rain.base.errors import StartError
from rain.daemon.user_key import state_folder
from rain.start.processes import ProcessMark, boot, is_running, parse_mark, spell_mark
from rain.start.remote import RemoteAccess

FORMAT = 1
FILE = "cluster.json"


@frozen
class Member:
    """One daemon of a cluster."""

    name: str
    address: str
    mark: ProcessMark
    host: str = ""  # as given by the user; "" is the machine where the cluster was started


@frozen
class JobEntry:
    """A governor that is a job of a batch system."""

    name: str
    number: str  # in the batch system


@frozen
class Cluster:
    """The description of a cluster that was started."""

    log_folder: Path
    machine: str  # where it was started
    address: str
    http: str
    members: tuple[Member, ...]  # the server first
    access: RemoteAccess
    secret_file: str = ""  # "" for a cluster without a secret
    tls: str = ""  # the folder of its certificates; "" for one that encrypts nothing
    launcher: str = ""  # of its jobs
    jobs: tuple[JobEntry, ...] = ()
    server_command: tuple[str, ...] = ()  # starts its server again; () if nobody waits for that

    def here(self) -> list[Member]:
        """The members on this machine."""
        return [member for member in self.members if not member.host]

    def elsewhere(self) -> dict[str, list[Member]]:
        """The members on other hosts."""
        by_host: dict[str, list[Member]] = {}
        for member in self.members:
            if member.host:
                by_host.setdefault(member.host, []).append(member)
        return by_host

    def is_running(self) -> bool:
        """Whether a process of it runs here (the server does, unless the cluster has ended)."""
        return any(is_running(member.mark) for member in self.here())

    @property
    def server(self) -> Member:
        """Its server."""
        return self.members[0]

    @property
    def governors(self) -> int:
        """How many governors it has, those that wait in a batch system among them."""
        return len(self.members) - 1 + len(self.jobs)

    @property
    def identity(self) -> str:
        """A unique name of the cluster, for a file."""
        mark = self.members[0].mark
        return f"{self.machine}-{mark.pid}-{mark.start}"


def spell_cluster(cluster: Cluster) -> str:
    """The text of cluster.json."""
    content = {
        "format": FORMAT,
        "log_folder": str(cluster.log_folder),
        "machine": cluster.machine,
        "address": cluster.address,
        "http": cluster.http,
        "secret_file": cluster.secret_file,
        "tls": cluster.tls,
        "members": [
            {
                "name": member.name,
                "host": member.host,
                "address": member.address,
                "process": spell_mark(member.mark),
            }
            for member in cluster.members
        ],
        "remote": {
            "ssh": list(cluster.access.ssh),
            "folder": str(cluster.access.folder),
            "init": cluster.access.init,
            "rain": list(cluster.access.rain),
        },
        "server_command": list(cluster.server_command),
        "launcher": cluster.launcher,
        "jobs": [{"name": job.name, "number": job.number} for job in cluster.jobs],
    }
    return json.dumps(content, indent=2) + "\n"


def parse_cluster(text: str, where: Path) -> Cluster:
    """Parses the text of cluster.json."""
    try:
        content: dict[str, Any] = json.loads(text)
        if content["format"] != FORMAT:
            raise StartError(f"{where} was written by another version of Rain")
        remote = content["remote"]
        cluster = Cluster(
            Path(content["log_folder"]),
            content["machine"],
            content["address"],
            content["http"],
            tuple(
                Member(member["name"], member["address"], _mark(member["process"]), member["host"])
                for member in content["members"]
            ),
            RemoteAccess(
                tuple(remote["ssh"]), Path(remote["folder"]), remote["init"], tuple(remote["rain"])
            ),
            content["secret_file"],
            content.get("tls", ""),
            content.get("launcher", ""),
            tuple(JobEntry(job["name"], job["number"]) for job in content.get("jobs", ())),
            tuple(content.get("server_command", ())),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise StartError(f"{where} does not describe a cluster: {error}") from error
    if not cluster.members:
        raise StartError(f"{where} does not describe a cluster: it has no members")
    return cluster


def _mark(text: str) -> ProcessMark:
    found = parse_mark(text)
    if found is None:
        raise ValueError(f"{text!r} is not a process")
    return found


def read_cluster(log_folder: Path) -> Cluster | None:
    """Returns the cluster with its logs in a folder; None if none was started there."""
    file = log_folder / FILE
    try:
        text = file.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StartError(f"{file} cannot be read: {error.strerror}") from error
    return parse_cluster(text, file)


def has_ended(log_folder: Path) -> bool:
    """Whether nothing of a cluster whose logs are in a folder runs here any more."""
    try:
        cluster = read_cluster(log_folder)
    except StartError:  # of another version: nobody knows
        return False
    return cluster is None or not cluster.is_running()


def write_cluster(cluster: Cluster) -> None:
    """Writes cluster.json."""
    file = cluster.log_folder / FILE
    try:
        draft = file.with_suffix(".new")
        draft.write_text(spell_cluster(cluster), encoding="utf-8")
        draft.replace(file)
    except OSError as error:
        raise StartError(f"{file} cannot be written: {error.strerror}") from error


@frozen
class Elsewhere:
    """A cluster that was started on another machine with the same home folder."""

    machine: str
    log_folder: Path


@frozen
class Index:
    """The clusters of a user."""

    folder: Path

    @staticmethod
    def of_user(environment: Mapping[str, str]) -> Index:
        """The index in the user's state folder."""
        return Index(state_folder(environment) / "clusters")

    def add(self, cluster: Cluster) -> None:
        """Adds a cluster; raises OSError if the index cannot be written."""
        self.folder.mkdir(parents=True, exist_ok=True)
        entry = {
            "machine": cluster.machine,
            "boot": boot(),
            "log_folder": str(cluster.log_folder),
        }
        self._file(cluster).write_text(json.dumps(entry) + "\n", encoding="utf-8")

    def remove(self, cluster: Cluster) -> None:
        """Removes a cluster that has ended."""
        self._file(cluster).unlink(missing_ok=True)

    def look(self) -> tuple[list[Cluster], list[Elsewhere]]:
        """Returns running clusters and those of other machines; removes ended clusters."""
        running: list[Cluster] = []
        elsewhere: list[Elsewhere] = []
        files = sorted(self.folder.glob("*.json")) if self.folder.is_dir() else []
        for file in files:
            try:
                entry: dict[str, str] = json.loads(file.read_text(encoding="utf-8"))
                machine, folder = entry["machine"], Path(entry["log_folder"])
                same_boot = entry["boot"] == boot()
            except FileNotFoundError:
                continue  # another process has just removed it
            except (ValueError, KeyError, TypeError) as error:
                raise StartError(f"{file} is not an entry of a cluster: remove it") from error
            if machine != socket.gethostname():
                elsewhere.append(Elsewhere(machine, folder))
                continue
            cluster = read_cluster(folder) if same_boot else None
            if cluster is not None and cluster.is_running():
                running.append(cluster)
            else:
                file.unlink(missing_ok=True)
        return running, elsewhere

    def _file(self, cluster: Cluster) -> Path:
        return self.folder / f"{cluster.identity}.json"


def user_index() -> Index:
    return Index.of_user(os.environ)
