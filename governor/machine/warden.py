"""Starts the warden: a small companion process that cleans up if the governor is killed.

It holds one end of a pipe and a list of the process groups that the governor has started. When the
pipe is closed for any reason, it kills these groups and the processes that have left them (see
strays.py), and removes the governor's folders and control groups. It is a few lines of shell, so it
costs almost nothing.
"""

from __future__ import annotations

import subprocess
from contextlib import suppress
from pathlib import Path

from rain.base.executor_protocol import ORIGIN
from rain.governor.machine.memory_wall import MemoryWall
from rain.governor.machine.process_groups import ProcessGroups
from rain.governor.machine.strays import Origin, Strays
from rain.rpc.background import Background

_SCRIPT = """
trap '' HUP INT TERM
groups=' '
while read -r sign group; do
    case $sign in
        +) groups="$groups$group " ;;
        -) groups="${groups%% $group *} ${groups#* $group }" ;;
    esac
done
for group in $groups; do kill -s KILL -- "-$group"; done
# In a control group without room nothing starts any more.
[ -z "$5" ] || for most in "$5"/*/pids.max; do echo 0 >"$most"; done
remove() {
    rounds=100
    while [ -d "$1" ] && [ $rounds -gt 0 ]; do
        for process in $(cat "$1"/cgroup.procs "$1"/*/cgroup.procs); do
            kill -s KILL "$process"
        done
        rmdir "$1"/*/
        rmdir "$1" && break
        rounds=$((rounds - 1))
        sleep 0.1
    done
}
[ -z "$5" ] || remove "$5"
[ -z "$6" ] || remove "$6"
for round in 1 2 3 4 5 6 7 8 9 10; do
    found=$(grep -lsEz -- "^$3=(.* )?$2/" /proc/[0-9]*/environ)
    [ -n "$found" ] || break
    for environment in $found; do
        process=${environment#/proc/}
        kill -s KILL "${process%/environ}"
    done
done
# What was killed just now may still make or remove something there.
for round in 1 2 3 4 5 6 7 8 9 10; do
    chmod -R u+rwx -- "$1" ${4:+"$4"}
    rm -rf -- "$1" ${4:+"$4"} && break
done
[ -z "$7" ] || rm -f -- "$7"
"""


class Warden:
    """The governor's side of the warden."""

    def __init__(
        self,
        work_folder: Path,
        background: Background,
        shared: Path | None = None,
        groups: ProcessGroups | None = None,
        wall: MemoryWall | None = None,
        link: Path | None = None,
    ) -> None:
        self.origin = Origin()
        self.strays = Strays(background, groups)
        self._process = subprocess.Popen(
            [
                *("/bin/sh", "-c", _SCRIPT, "rain-warden"),
                *(str(work_folder), self.origin.token, ORIGIN),
                "" if shared is None else str(shared),
                "" if groups is None else str(groups.folder),
                "" if wall is None else str(wall.folder),
                "" if link is None else str(link),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            bufsize=0,
        )

    def watch(self, group: int) -> None:
        """Adds a process group that must die with the governor."""
        self._tell(f"+ {group}\n")

    def release(self, group: int) -> None:
        """Removes a process group that has ended; its number may soon be reused."""
        self._tell(f"- {group}\n")

    def close(self) -> None:
        """Ends the warden: the governor has cleaned up itself."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait()

    def _tell(self, line: str) -> None:
        # The warden may have been killed; executors still end with the governor.
        with suppress(BrokenPipeError):
            if self._process.stdin is not None:
                self._process.stdin.write(line.encode())
