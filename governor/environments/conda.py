"""Conda environments: the tool that makes them, its command line, and where existing ones are."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import trio

from rain.governor.environments.not_made import NotMadeError

TOOLS: Final = ("micromamba", "mamba", "conda")
"""The programs to look for, the quickest first."""

PYTHON: Final = "python{}.{}".format(*sys.version_info)
"""The releases of Python that can use the packages of this one."""


def conda_tool(named: str | None) -> str:
    """The tool that the governor was told, or the first that is there; NotMadeError if none is."""
    for tool in TOOLS if named is None else (named,):
        if (found := shutil.which(tool)) is not None:
            return found
    if named is not None:
        raise NotMadeError(f"rain governor --conda {named}: there is no such program")
    raise NotMadeError(
        "a conda environment needs micromamba, mamba or conda on the machine of the governor, and"
        " none is in its PATH: install one, or name it with rain governor --conda"
    )


def creation(tool: str, prefix: Path, file: Path) -> list[str]:
    """The command that makes an environment from its description."""
    if Path(tool).name == "conda":  # it asks no questions here
        return [tool, "env", "create", "--prefix", str(prefix), "--file", str(file)]
    begin = ["create"] if Path(tool).name.startswith("micromamba") else ["env", "create"]
    return [tool, *begin, "--yes", "--prefix", str(prefix), "--file", str(file)]


def prefix_at(path: str) -> Path:
    """The environment of the user at this path."""
    prefix = Path(path)
    if not prefix.is_dir():
        raise NotMadeError(f"there is no conda environment {path}")
    return prefix


async def prefix_of(name: str, tool: str | None) -> Path:
    """Where the environment of the user with this name is."""
    command = [conda_tool(tool), "env", "list", "--json"]
    try:
        listed = await trio.run_process(
            command, capture_stdout=True, check=False, stderr=subprocess.DEVNULL
        )
        found: Any = json.loads(listed.stdout)
        prefixes = [Path(prefix) for prefix in found["envs"]]
    except (OSError, ValueError, LookupError, TypeError):
        said = " ".join(command)
        raise NotMadeError(f"{said} has not listed the conda environments") from None
    return _chosen(name, prefixes)


def _chosen(name: str, prefixes: Iterable[Path]) -> Path:
    names = {prefix.name: prefix for prefix in prefixes}
    if name not in names:
        there = ", ".join(sorted(names)) or "none"
        raise NotMadeError(f"there is no conda environment {name!r}; there are: {there}")
    return names[name]


def check_python(prefix: Path) -> None:
    """NotMadeError unless functions can run there, which have been pickled for this Python."""
    if (prefix / "bin" / PYTHON).exists():
        return
    others = sorted(path.name for path in prefix.glob("bin/python3.*") if path.suffix[1:].isdigit())
    has = others[0] if others else "no Python"
    wanted = PYTHON.replace("python", "python=")
    raise NotMadeError(
        f"the conda environment has {has}, and functions need {PYTHON}, which the governor has:"
        f" name {wanted} in its dependencies; only programs can do without"
    )
