"""Ends a cluster, here and on its other hosts at the same time."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence

from attrs import frozen

from rain.base.errors import StartError
from rain.start.clusters import ClusterDescription, Index, StartedDaemon
from rain.start.ending import ProcessEnding, end_processes
from rain.start.jobs import all_jobs, cancel_jobs
from rain.start.processes import boot, is_running, parse_mark
from rain.start.remote import RemoteAccess, end_script
from rain.start.scaling_plan import HERE

JOURNEY = 30.0  # additional seconds for ssh
_ENDINGS: dict[str, ProcessEnding] = {str(ending): ending for ending in ProcessEnding}


@frozen
class StoppedCluster:
    """How the daemons of a cluster ended."""

    endings: tuple[tuple[StartedDaemon, ProcessEnding], ...]
    unreached: tuple[str, ...]  # a line for each host or batch system that could not be reached

    def named(self, ending: ProcessEnding) -> list[str]:
        return [member.name for member, found in self.endings if found is ending]

    def gone(self) -> list[str]:
        """Daemons that had ended before; on other hosts perhaps just with the server."""
        return [
            member.name
            for member, found in self.endings
            if found is ProcessEnding.GONE and not member.host
        ]


def stop_cluster(cluster: ClusterDescription, index: Index, grace: float) -> StoppedCluster:
    """Ends all daemons of a cluster and removes it from the index if all hosts were reached."""
    _check_owner(cluster)
    if cluster.scaler is not None:  # first, so that it starts nothing any more
        end_processes([cluster.scaler.mark], grace)
    here = [*cluster.here(), *_local_jobs(cluster)]
    away = [
        RemoteStop(access, host, members, grace)
        for (host, access), members in cluster.elsewhere().items()
    ]
    endings = list(zip(here, end_processes([member.mark for member in here], grace), strict=True))
    unreached: list[str] = []
    for host in away:
        endings += host.endings(grace + JOURNEY)
        if host.trouble:
            unreached.append(host.trouble)
    # After the server: governors that have lost it end at once, and the others never begin.
    unreached += cancel_jobs(cluster)
    if not unreached:
        index.remove(cluster)
    return StoppedCluster(tuple(endings), tuple(unreached))


def _local_jobs(cluster: ClusterDescription) -> list[StartedDaemon]:
    """Jobs that are processes of this machine."""
    found: list[StartedDaemon] = []
    for job in all_jobs(cluster):
        mark = parse_mark(f"{job.number.replace('.', ' ')} {boot()}")
        if job.launcher in HERE and mark is not None:
            found.append(StartedDaemon(job.name, "", mark))
    return found


def _check_owner(cluster: ClusterDescription) -> None:
    for member in cluster.here():
        if is_running(member.mark):
            try:
                os.kill(member.mark.pid, 0)  # only checks whether it would be allowed
            except ProcessLookupError:
                continue  # it has just ended
            except PermissionError as error:
                raise StartError(
                    f"the cluster at {cluster.address} belongs to another user"
                ) from error


class RemoteStop:
    """The ssh session that ends the daemons of another host."""

    def __init__(
        self, access: RemoteAccess, host: str, members: Sequence[StartedDaemon], grace: float
    ) -> None:
        self._host = host
        self._members = members
        self._process: subprocess.Popen[str] | None = None
        self.trouble = ""
        script = end_script(access, [member.mark for member in members], grace)
        try:
            # A file, not a pipe: all hosts can then read their scripts at the same time.
            with tempfile.TemporaryFile("w+", encoding="utf-8") as file:
                file.write(script)
                file.seek(0)
                self._process = subprocess.Popen(
                    access.command(host),
                    text=True,
                    stdin=file,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    start_new_session=True,  # so that ssh never prompts on the terminal
                )
        except OSError as error:
            self.trouble = f"{host} cannot be reached: {error}"

    def endings(self, timeout: float) -> list[tuple[StartedDaemon, ProcessEnding]]:
        """Waits for the answer of the host."""
        if self._process is None:
            return []
        try:
            output, complaint = self._process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            self._process.kill()
            output, complaint = self._process.communicate()
            complaint = complaint or f"no answer in {timeout:g} seconds"
        said = [line.partition(" ") for line in output.splitlines()]
        by_mark = {parse_mark(mark): ending for mark, _, ending in said}
        reason = next((rest for word, _, rest in said if word == "failed"), "")
        reason = reason or (complaint.strip().splitlines() or ["it said nothing"])[-1]
        found: list[tuple[StartedDaemon, ProcessEnding]] = []
        for member in self._members:
            ending = _ENDINGS.get(by_mark.get(member.mark, ""))
            if ending is not None:
                found.append((member, ending))
            else:
                self.trouble = f"{member.name} on {self._host} may still run: {reason}"
        return found
