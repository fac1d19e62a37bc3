"""Network namespaces and links that are named after the process that made them.

A program that is killed cannot remove its own; the next one that makes any does.
"""

from __future__ import annotations

import os
import re
import subprocess
from contextlib import suppress
from pathlib import Path

FOLDER = Path("/run/netns")
LINKS = Path("/sys/class/net")

_NAMESPACE = re.compile(r"rain-of-(\d+)-\w+")
_LINK = re.compile(r"rl(\d+)-\w+")


def namespace_name(what: str) -> str:
    """The name of a namespace of this process."""
    return f"rain-of-{os.getpid()}-{what}"


def link_name(what: str) -> str:
    """The name of a link of this process. The kernel takes 15 letters, which leave 5 for `what`."""
    return f"rl{os.getpid()}-{what}"


def entering(namespace: str) -> tuple[str, ...]:
    """What starts a program there."""
    return ("nsenter", f"--net={FOLDER / namespace}")


def ip(words: str) -> None:
    """Runs `ip`. OSError with what it says if it fails."""
    done = subprocess.run(["ip", *words.split()], check=False, capture_output=True, text=True)
    if done.returncode:
        raise OSError(None, f"ip {words}: {done.stderr.strip()}")


def remove_abandoned() -> None:
    """Removes what processes have left that were killed."""
    for command, folder, form in (("netns del", FOLDER, _NAMESPACE), ("link del", LINKS, _LINK)):
        for name in _names(folder):
            named = form.fullmatch(name)
            if named and not Path("/proc", named[1]).exists():
                # It may go with its namespace, or another program may be quicker.
                with suppress(OSError):
                    ip(f"{command} {name}")


def _names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()] if folder.exists() else []
