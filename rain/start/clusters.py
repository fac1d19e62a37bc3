"""Records the clusters that were started, so that they can be found and ended.

`cluster.json` in the log folder describes a cluster. A folder of the user has one small file for
each cluster, which contains the path of that log folder.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path
from typing import Any

from attrs import asdict, frozen

from rain.base.errors import StartError
from rain.daemon.private import private_folder, temporary_folder
from rain.daemon.user_key import state_folder
from rain.start.processes import ProcessMark, boot, is_running, parse_mark, spell_mark
from rain.start.remote import RemoteAccess

FORMAT = 1
FILE = "cluster.json"
_LOCK = "cluster.lock"


@frozen
class StartedDaemon:
    """One daemon of a cluster."""

    name: str
    address: str
    mark: ProcessMark
    host: str = ""  # as given by the user; "" is the machine where the cluster was started
    access: RemoteAccess | None = None  # how its host is reached; None is for that of the cluster


@frozen
class JobEntry:
    """A governor that is a job of a batch system."""

    name: str
    number: str  # in the batch system
    launcher: str
    log_folder: Path


@frozen
class GovernorOptions:
    """The options of the governors of a cluster, which governors that are added later get, too."""

    config: str = ""
    cache_limit: str = ""
    work_folder: str = ""


@frozen
class ClusterDescription:
    """The description of a cluster that was started."""

    log_folder: Path
    machine: str  # where it was started
    address: str
    http: str
    members: tuple[StartedDaemon, ...]  # the server first, which may have a standby
    access: RemoteAccess
    secret_file: str = ""  # "" for a cluster without a secret
    tls: str = ""  # the folder of its certificates; "" for one that encrypts nothing
    jobs: tuple[JobEntry, ...] = ()
    server_command: tuple[str, ...] = ()  # starts its server again; () if nobody waits for that
    alike: GovernorOptions = GovernorOptions()
    scaler: StartedDaemon | None = None  # starts and ends governors as the work needs
    standby: StartedDaemon | None = None  # the second server, at the address for its peers
    standby_command: tuple[str, ...] = ()  # starts it again

    @property
    def servers(self) -> tuple[StartedDaemon, ...]:
        """Its server and the standby. Which one leads is found by asking."""
        return self.members[:1] if self.standby is None else (self.server, self.standby)

    @property
    def addresses(self) -> str:
        """Where its servers are, for peers, as `Servers.of` reads it."""
        return self.or_standby(self.address)

    def or_standby(self, address: str) -> str:
        """This address of its server, and that of the standby."""
        return address if self.standby is None else f"{address},{self.standby.address}"

    @property
    def has_server(self) -> bool:
        """Whether a server of the cluster runs here, or may run on another host."""
        return any(server.host or is_running(server.mark) for server in self.servers)

    @property
    def daemons(self) -> tuple[StartedDaemon, ...]:
        """All that serve or work, in the order in which they end."""
        return self.members if self.standby is None else (self.standby, *self.members)

    def here(self) -> list[StartedDaemon]:
        """Those on this machine."""
        return [member for member in self.daemons if not member.host]

    def elsewhere(self) -> dict[tuple[str, RemoteAccess], list[StartedDaemon]]:
        """Those on other hosts, by host and the way to it."""
        by_host: dict[tuple[str, RemoteAccess], list[StartedDaemon]] = {}
        for member in self.daemons:
            if member.host:
                by_host.setdefault((member.host, self.way_to(member)), []).append(member)
        return by_host

    def way_to(self, member: StartedDaemon) -> RemoteAccess:
        """How the host of a member is reached."""
        return member.access or self.access

    def is_running(self) -> bool:
        """Whether a process of it runs here (the server does, unless the cluster has ended)."""
        ours = self.here() if self.scaler is None else [*self.here(), self.scaler]
        return any(is_running(member.mark) for member in ours)

    @property
    def server(self) -> StartedDaemon:
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


def spell_cluster(cluster: ClusterDescription) -> str:
    """The text of cluster.json."""
    content = {
        "format": FORMAT,
        "log_folder": str(cluster.log_folder),
        "machine": cluster.machine,
        "address": cluster.address,
        "http": cluster.http,
        "secret_file": cluster.secret_file,
        "tls": cluster.tls,
        "members": [_spell_member(member) for member in cluster.members],
        "remote": _spell_access(cluster.access),
        "server_command": list(cluster.server_command),
        "jobs": [{**asdict(job), "log_folder": str(job.log_folder)} for job in cluster.jobs],
        "governors": asdict(cluster.alike),
        "scaler": None if cluster.scaler is None else spell_mark(cluster.scaler.mark),
        "standby": None if cluster.standby is None else _spell_member(cluster.standby),
        "standby_command": list(cluster.standby_command),
    }
    return json.dumps(content, indent=2) + "\n"


def _spell_member(member: StartedDaemon) -> dict[str, object]:
    return {
        "name": member.name,
        "host": member.host,
        "address": member.address,
        "process": spell_mark(member.mark),
        **({} if member.access is None else {"remote": _spell_access(member.access)}),
    }


def _spell_access(access: RemoteAccess) -> dict[str, object]:
    return {
        "ssh": list(access.ssh),
        "folder": str(access.folder),
        "init": access.init,
        "rain": list(access.rain),
    }


def _read_access(told: Mapping[str, Any]) -> RemoteAccess:
    return RemoteAccess(tuple(told["ssh"]), Path(told["folder"]), told["init"], tuple(told["rain"]))


def _read_member(told: Mapping[str, Any]) -> StartedDaemon:
    access = _read_access(told["remote"]) if "remote" in told else None
    return StartedDaemon(
        told["name"], told["address"], _mark(told["process"]), told["host"], access
    )


def _read_scaler(told: str | None) -> StartedDaemon | None:
    return None if told is None else StartedDaemon("scaler", "", _mark(told))


def parse_cluster(text: str, where: Path) -> ClusterDescription:
    """Parses the text of cluster.json."""
    try:
        content: dict[str, Any] = json.loads(text)
        if content["format"] != FORMAT:
            raise StartError(f"{where} was written by another version of Rain")
        folder, launcher = Path(content["log_folder"]), content.get("launcher", "")
        cluster = ClusterDescription(
            folder,
            content["machine"],
            content["address"],
            content["http"],
            tuple(_read_member(member) for member in content["members"]),
            _read_access(content["remote"]),
            content["secret_file"],
            content.get("tls", ""),
            tuple(
                JobEntry(
                    job["name"],
                    job["number"],
                    job.get("launcher", launcher),
                    Path(job.get("log_folder", folder)),
                )
                for job in content.get("jobs", ())
            ),
            tuple(content.get("server_command", ())),
            GovernorOptions(**content.get("governors", {})),
            _read_scaler(content.get("scaler")),
            None if content.get("standby") is None else _read_member(content["standby"]),
            tuple(content.get("standby_command", ())),
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


def read_cluster(log_folder: Path) -> ClusterDescription | None:
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
    """Whether no process of the cluster with this log folder runs here any more."""
    try:
        cluster = read_cluster(log_folder)
    except StartError:  # of another version: unknown
        return False
    return cluster is None or not cluster.is_running()


def write_cluster(cluster: ClusterDescription) -> None:
    """Writes cluster.json."""
    file = cluster.log_folder / FILE
    try:
        draft = file.with_suffix(".new")
        draft.write_text(spell_cluster(cluster), encoding="utf-8")
        draft.replace(file)
    except OSError as error:
        raise StartError(f"{file} cannot be written: {error.strerror}") from error


@contextmanager
def changing(log_folder: Path) -> Generator[ClusterDescription]:
    """The cluster with its logs in a folder, which no other command changes meanwhile."""
    with ExitStack() as stack:
        try:
            lock = stack.enter_context((log_folder / _LOCK).open("wb"))
            flock(lock, LOCK_EX | LOCK_NB)
        except BlockingIOError as error:
            raise StartError(
                f"another command changes the cluster of {log_folder}: try again when it has ended"
            ) from error
        except OSError as error:
            raise StartError(f"{log_folder / _LOCK} cannot be written: {error.strerror}") from error
        cluster = read_cluster(log_folder)
        if cluster is None:
            raise StartError(f"no cluster was started with its logs in {log_folder}")
        yield cluster


@frozen
class StartedElsewhere:
    """A cluster that was started on another machine with the same home folder."""

    machine: str
    log_folder: Path


@frozen
class Index:
    """The clusters of a user."""

    folder: Path

    @staticmethod
    def of_user(environment: Mapping[str, str]) -> Index:
        """The index in the user's state folder, or where the key is if that cannot be used."""
        state = state_folder(environment)
        try:
            state.parent.mkdir(parents=True, exist_ok=True)
            usable = os.access(private_folder(state), os.W_OK)
        except (OSError, StartError):  # as for the key of this user
            usable = False
        return Index((state if usable else temporary_folder()) / "clusters")

    def add(self, cluster: ClusterDescription) -> None:
        """Adds a cluster; raises OSError if the index cannot be written."""
        self.folder.mkdir(parents=True, exist_ok=True)
        entry = {
            "machine": cluster.machine,
            "boot": boot(),
            "log_folder": str(cluster.log_folder),
        }
        self._file(cluster).write_text(json.dumps(entry) + "\n", encoding="utf-8")

    def remove(self, cluster: ClusterDescription) -> None:
        """Removes a cluster that has ended."""
        self._file(cluster).unlink(missing_ok=True)

    def look(self) -> tuple[list[ClusterDescription], list[StartedElsewhere]]:
        """Returns running clusters and those of other machines; removes ended clusters."""
        running: list[ClusterDescription] = []
        elsewhere: list[StartedElsewhere] = []
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
                elsewhere.append(StartedElsewhere(machine, folder))
                continue
            cluster = read_cluster(folder) if same_boot else None
            if cluster is not None and cluster.is_running():
                running.append(cluster)
            else:
                file.unlink(missing_ok=True)
        return running, elsewhere

    def _file(self, cluster: ClusterDescription) -> Path:
        return self.folder / f"{cluster.identity}.json"


def user_index() -> Index:
    return Index.of_user(os.environ)
