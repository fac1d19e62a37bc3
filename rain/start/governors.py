"""The governors of a start: several on this machine, one on each of some hosts, or jobs. No I/O."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Literal, TypeAlias, cast

from attrs import frozen

from rain.base.errors import StartError

Way: TypeAlias = Literal["--simple", "--local-governors", "--governor-host-file", "--autoconf"]

MANY_GOVERNORS = 1000
SSH = "ssh -o StrictHostKeyChecking=no"
"""How hosts are reached, unless a user says otherwise."""


@frozen
class LocalGovernors:
    """One governor on this machine for each entry: its cpus, or None for all cpus."""

    cpus: tuple[int | None, ...]


@frozen
class RemoteGovernors:
    """One governor on each host, reached through ssh."""

    hosts: tuple[str, ...]


@frozen
class BatchGovernors:
    """Governors that are jobs of a batch system. None is for its default."""

    launcher: str
    count: int
    cpus: int | None = None
    memory: int | None = None  # bytes
    gpus: int | None = None
    seconds: int | None = None  # how long each may run
    options: tuple[str, ...] = ()  # for the batch system, as the user has written them
    wait: int = 0  # how many are to be ready when the start is over


@frozen
class Scale:
    """How many governors there may be when their number follows the work."""

    most: int
    least: int = 0
    idle: float = 60.0  # seconds without a task after which one is let go
    largest: int = 1  # how many times as large one job may be
    kind: str = ""  # what these governors are called; "" for the name of their launcher


def read_scale(
    governors: int | None,
    most: int | None,
    least: int | None,
    idle: float | None,
    largest: int | None,
    kind: str | None = None,
) -> Scale | None:
    """The scale that is asked for, None for a fixed number; ValueError if it is neither or both."""
    if most is None:
        given = {"--min": least, "--idle": idle, "--largest": largest, "--kind": kind}
        for option, said in given.items():
            if said is not None:
                raise ValueError(f"{option} is for a cluster that scales: give --max, too")
        return None
    if governors is not None:
        raise ValueError("--governors is a fixed number, and --max is not: give one of them")
    found = Scale(most, least or 0, 60.0 if idle is None else idle, largest or 1, kind or "")
    if found.least > found.most:
        raise ValueError(f"--min {found.least} is more than --max {found.most}")
    return found


Governors: TypeAlias = LocalGovernors | RemoteGovernors | BatchGovernors


def choose_way(given: Iterable[Way]) -> Way:
    """Returns the one way in which governors were requested."""
    ways = list(given)
    if not ways:
        raise StartError(
            "no governors: use --simple, --local-governors, --governor-host-file or --autoconf=pbs,"
            " or name a launcher, as 'rain start slurm --help'"
        )
    if len(ways) > 1:
        raise StartError(f"{' and '.join(ways)} cannot be combined: choose one of them")
    return ways[0]


def read_local_governors(text: str) -> LocalGovernors:
    """`[4,4,2]`: the cpus of each governor of this machine."""
    wrong = StartError(
        f"--local-governors {text!r} is not a list of cpus: write for instance [4,4,2]"
    )
    try:
        found: object = json.loads(text)
    except ValueError:
        raise wrong from None
    if not isinstance(found, list) or not found:
        raise wrong
    cpus: list[int] = []
    for entry in cast("list[object]", found):
        if isinstance(entry, bool) or not isinstance(entry, int) or entry < 1:
            raise wrong
        cpus.append(entry)
    if len(cpus) > MANY_GOVERNORS:
        raise StartError(f"--local-governors names {len(cpus)} governors, which is too many")
    return LocalGovernors(tuple(cpus))


def read_hosts(text: str, where: str) -> RemoteGovernors:
    """Parses a host file: one host per line, `#` starts a comment."""
    hosts: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        host = line.partition("#")[0].strip()
        if not host:
            continue
        if len(host.split()) > 1:
            raise StartError(f"{where}, line {number}: {host!r} is more than one host")
        if host.startswith("-"):
            raise StartError(f"{where}, line {number}: {host!r} is not a host")
        hosts.append(host)
    if not hosts:
        raise StartError(f"{where} names no host")
    return RemoteGovernors(tuple(hosts))


def once_each(governors: RemoteGovernors) -> RemoteGovernors:
    """Removes duplicate hosts: PBS lists a host once for each of its processes."""
    return RemoteGovernors(tuple(dict.fromkeys(governors.hosts)))


def as_user(governors: RemoteGovernors, user: str) -> RemoteGovernors:
    """The hosts with this user, unless they name one."""
    _check_word("--user", user)
    if not user:
        return governors
    return RemoteGovernors(
        tuple(host if "@" in host else f"{user}@{host}" for host in governors.hosts)
    )


def through(ssh: tuple[str, ...], jump: str) -> tuple[str, ...]:
    """The command that reaches hosts by way of another one, or of several: HOST,HOST."""
    _check_word("--jump", jump)
    return (*ssh, "-J", jump) if jump else ssh


def _check_word(option: str, word: str) -> None:
    if word.startswith("-") or len(word.split()) > 1:
        raise StartError(f"{option} {word!r} is not a name")


def refuse_options_before(launcher: str, given: Iterable[str]) -> None:
    """Options of a launcher stand after its name; before it they would do nothing."""
    misplaced = list(given)
    if misplaced:
        raise StartError(
            f"{' '.join(misplaced)} has to come after {launcher!r}: rain start {launcher} ..."
        )
