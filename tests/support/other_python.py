"""Another release of Python on this machine, with what Rain needs; it is prepared once.

It is looked for among the programs that are installed. What Rain needs comes from PyPI, and is kept
in the cache of the user until the requirements change.
"""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

import pytest

OLDEST, HERE = (3, 11), sys.version_info[:2]
_TELLS = "import sys, venv; print(*sys.version_info[:2])"


def other_python() -> str:
    """An interpreter of another release that can run Rain; skips the test if none is installed."""
    base = next(filter(_is_other, _installed()), None)
    if base is None:
        pytest.skip("no other release of Python is installed")
    needs = sorted(
        one for one in importlib.metadata.requires("rain-tasks") or () if "extra ==" not in one
    )
    key = blake2b("\n".join([base, *needs]).encode(), digest_size=8).hexdigest()
    folder = Path.home() / ".cache" / "rain-tests" / f"python-{key}"
    if not folder.exists():
        _prepare(base, needs, folder)
    return str(folder / "bin" / "python")


def _prepare(base: str, needs: list[str], folder: Path) -> None:
    """Makes a virtual environment: somewhere else first, so that it is whole or not there."""
    draft = folder.with_name(f"{folder.name}.{os.getpid()}")
    draft.parent.mkdir(parents=True, exist_ok=True)
    try:
        subprocess.run([base, "-m", "venv", "--without-pip", str(draft)], check=True)
        install = ("install", "--quiet", "--disable-pip-version-check", *needs)
        pip = (sys.executable, "-m", "pip", "--python", str(draft / "bin" / "python"))
        subprocess.run([*pip, *install], check=True)
        draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _installed() -> Iterator[str]:
    for minor in range(OLDEST[1], 20):
        if (found := shutil.which(f"python3.{minor}")) is not None:
            yield found
    yield "/usr/bin/python3"  # that of the system
    versions = Path.home() / ".pyenv" / "versions"
    yield from map(str, sorted(versions.glob("3.*/bin/python3"), reverse=True))


def _is_other(python: str) -> bool:
    try:
        told = subprocess.run([python, "-c", _TELLS], capture_output=True, text=True, check=False)
    except OSError:
        return False
    if told.returncode:
        return False
    major, minor = map(int, told.stdout.split())
    return (major, minor) >= OLDEST and (major, minor) != HERE
