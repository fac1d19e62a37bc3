"""Compares the software of this program with that of the governors of a cluster."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from typing import Final

from attrs import frozen

from rain.base.errors import StartError
from rain.client import Client, RainException
from rain.start.reaching import ReachedServer, asking

PATIENCE: Final = 20.0
"""Seconds that a program may take to say its version."""


@frozen
class Installed:
    """The version of Python, and the versions of packages and programs by their names."""

    python: str
    packages: Mapping[str, str]
    programs: Mapping[str, str] = {}


@frozen
class Difference:
    """Something that is not the same here and at a governor; "" stands for what is not there."""

    what: str
    here: str
    there: str


def installed(programs: Sequence[str] = ()) -> Installed:
    """The versions of this Python and its packages, and those that these programs print."""
    packages = {
        found.metadata["Name"].lower().replace("_", "-"): found.version
        for found in metadata.distributions()
        if found.metadata["Name"]
    }
    said = {name: said_version(name) for name in programs}
    return Installed("{}.{}.{}".format(*sys.version_info), packages, said)


def said_version(program: str) -> str:
    """The first line that a program prints when asked for its version; "" if there is none."""
    path = shutil.which(program)
    if path is None:
        return ""
    try:
        ended = subprocess.run(
            [path, "--version"],
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=PATIENCE,
        )
    except subprocess.TimeoutExpired:
        return f"no version within {PATIENCE:g} s"
    except OSError as error:
        return f"cannot be run ({error.strerror})"
    lines = ended.stdout.decode(errors="replace").split("\n")
    said = next((line.strip() for line in lines if line.strip()), "")
    return said if said and not ended.returncode else "no version"


def differences(here: Installed, there: Installed, only: Iterable[str] = ()) -> list[Difference]:
    """The packages that a governor does not have, or has in another version than this program.

    Packages that only the governor has do no harm. With names, only these packages are compared.
    """
    found: list[Difference] = []
    if here.python != there.python:
        found.append(Difference("Python", here.python, there.python))
    for name in sorted([one.lower().replace("_", "-") for one in only] or here.packages):
        ours, theirs = here.packages.get(name, ""), there.packages.get(name, "")
        if ours != theirs:
            found.append(Difference(name, ours, theirs))
    for name, said in here.programs.items():
        if said != there.programs[name] or not said:  # a user who asks for it wants it
            found.append(Difference(name, said, there.programs[name]))
    return found


def ask_governors(reached: ReachedServer, programs: Sequence[str] = ()) -> dict[str, Installed]:
    """The versions on each governor in which tasks can run now."""
    try:
        with (
            asking(reached.address, reached.keys) as connection,
            Client.over(connection) as client,
        ):
            governors = client.get_server_info()["governors"]
            addresses = [governor["governor_id"] for governor in governors]
            calls = {
                address: client.options(constraints={"pin": [address]}, cpus=0).submit(
                    installed, programs
                )
                for address in addresses
            }
            return {address: call.result() for address, call in calls.items()}
    except RainException as error:
        raise StartError(f"the server at {reached.address}: {error}") from error


def as_text(found: Mapping[str, list[Difference]]) -> str:
    """The differences of all governors, those with the same ones together."""
    if not found:
        return "There is no governor."
    alike: dict[tuple[Difference, ...], list[str]] = {}
    for governor, theirs in sorted(found.items()):
        alike.setdefault(tuple(theirs), []).append(governor)
    lines: list[str] = []
    for same, governors in alike.items():
        lines.append(f"{', '.join(governors)}: {_count(len(same))}")
        lines += [
            f"  {one.what}: {one.here or 'missing'} here, {one.there or 'missing'} there"
            for one in same
        ]
    return "\n".join(lines)


def _count(differences: int) -> str:
    if not differences:
        return "the same as here"
    return "1 difference" if differences == 1 else f"{differences} differences"
