"""Determines the governors that the options of `rain start` request; reads the named files."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from pathlib import Path

from rain.base.errors import StartError
from rain.launchers.interface import Housed
from rain.launchers.registry import find_launcher
from rain.start.governors import (
    Governors,
    LocalGovernors,
    RemoteGovernors,
    Way,
    choose_way,
    once_each,
    read_hosts,
    read_local_governors,
)
from rain.start.plan import check_reach

_NODE_FILE = "PBS_NODEFILE"


def asked_governors(
    *,
    simple: bool,
    local_governors: str | None,
    host_file: Path | None,
    autoconf: str | None,
    server_host: str,
    environment: Mapping[str, str],
) -> Governors:
    """The requested governors; StartError if there are none or the options conflict."""
    asked: dict[Way, bool] = {
        "--simple": simple,
        "--local-governors": local_governors is not None,
        "--governor-host-file": host_file is not None,
        "--autoconf": autoconf is not None,
    }
    way = choose_way(way for way, given in asked.items() if given)
    if local_governors is not None:
        return read_local_governors(local_governors)
    if way == "--simple":
        return LocalGovernors((None,))
    hosts = _read(host_file) if host_file is not None else _pbs_hosts(environment)
    _check_reach(hosts, server_host)
    return hosts


def hosts_of(given: Sequence[str], server_host: str) -> RemoteGovernors:
    """The hosts that are given, or those of the file that is given."""
    is_file = len(given) == 1 and ("/" in given[0] or Path(given[0]).is_file())
    hosts = _read(Path(given[0])) if is_file else read_hosts("\n".join(given), "the list of hosts")
    _check_reach(hosts, server_host)
    return hosts


def _check_reach(hosts: RemoteGovernors, server_host: str) -> None:
    name = socket.gethostname()
    if server_host:
        check_reach(server_host, hosts.hosts, frozenset({name, name.partition(".")[0]}))


def _pbs_hosts(environment: Mapping[str, str]) -> RemoteGovernors:
    file = environment.get(_NODE_FILE, "")
    if not file:
        raise StartError(f"--autoconf=pbs: {_NODE_FILE} is not set; is this a job of PBS?")
    return once_each(_read(Path(file)))


def _read(file: Path) -> RemoteGovernors:
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise StartError(f"the host file {file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise StartError(f"the host file {file} is not text: {error}") from error
    return read_hosts(text, str(file))


def how_many(launcher: str, governors: int | None, options: Sequence[str]) -> int:
    """The number of jobs, which a user may leave to some launchers: None or 0."""
    if governors:
        return governors
    found = find_launcher(launcher)
    if not isinstance(found, Housed):
        raise StartError(f"give the number of jobs to ask {launcher} for: --governors N")
    return found.room(options)
