"""The text of a job that runs one governor."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

READY_FD = 3


def governor_script(
    command: Sequence[str],
    *,
    folder: Path,
    ready: Path,
    cpus_variable: str,
    before: str = "",
    seconds: int | None = None,
) -> str:
    """A script that runs a governor in a folder, after commands of the user.

    The file `ready` gets the name of the machine, and the address of the governor when it is ready.
    It offers the cpus that the batch system has given to the job, in `cpus_variable`, unless that
    is "". If the job ends after some `seconds`, the governor knows how many are left at its start.
    The script becomes the governor (`exec`), so that the signals of the batch system reach it. What
    the script is told, the governor is told, too.
    """
    limit = "" if seconds is None else f' --time-limit "$((began + {seconds} - $(date +%s)))s"'
    cpus = "" if not cpus_variable else f' --cpus "${{{cpus_variable}:-detect}}"'
    first = f"{before}\n" if before else ""
    return f"""#!/bin/sh
began=$(date +%s)
cd {shlex.quote(str(folder))} || exit 1
exec {READY_FD}>{shlex.quote(str(ready))} || exit 1
uname -n >&{READY_FD}
{first}exec {shlex.join(command)}{cpus}{limit} --ready-fd {READY_FD} "$@"
"""
