"""A daemon of this machine that is being started."""

from __future__ import annotations

import os
import subprocess

from attrs import define, field

from rain.base.errors import StartError
from rain.daemon.private import ONLY_OWNER
from rain.start import processes
from rain.start.children import Child, end_status, how_ended, log_end, open_log, popen
from rain.start.plan import PlannedDaemon
from rain.start.remote import Note, Ready, Report


@define(eq=False)
class LocalChild(Child):
    """A daemon of this machine."""

    log_begins: int = field(default=0, kw_only=True)  # bytes in its log from before it was started

    def note(self, report: Report | None) -> None:
        if isinstance(report, Ready):
            self.address, self.http = report.address, report.http
        elif isinstance(report, Note):
            self.said = report.text

    def why_ended(self) -> str:
        how = how_ended(end_status(self))
        log, end = self.daemon.errors, log_end(self.daemon.errors, self.log_begins)
        return f"{self.daemon.name} {how} before it was ready; its log {log} {end}"

    def why_silent(self) -> str:
        mute = ""
        if self.lines.ended:
            mute = "it cannot report, because a --runprefix must pass descriptors on; "
        log = self.daemon.errors
        return f"{mute}the log of {self.daemon.name}, {log}, {log_end(log, self.log_begins)}"


def make_work_root(daemon: PlannedDaemon) -> None:
    """Creates the parent folder of all work folders; StartError if it cannot be made."""
    if daemon.work_folder is None:
        return
    try:
        daemon.work_folder.mkdir(mode=ONLY_OWNER, parents=True, exist_ok=True)
    except OSError as error:
        raise StartError(
            f"the work folder {daemon.work_folder} cannot be made: {error.strerror}; choose another"
            " one with --workdir"
        ) from error


def spawn_local(daemon: PlannedDaemon, *, again: bool = False) -> LocalChild:
    """Starts a daemon of this machine in its own session, so that it outlives the terminal.

    `again` says that it was started before, and that its logs go on.
    """
    reports, ready = os.pipe()
    try:
        make_work_root(daemon)
        with (
            open_log(daemon.output, again=again) as output,
            open_log(daemon.errors, again=again) as errors,
        ):
            log_begins = os.fstat(errors.fileno()).st_size
            process = popen(
                daemon,
                [*daemon.command, "--ready-fd", str(ready)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                pass_fds=(ready,),
            )
    except (OSError, StartError) as error:
        os.close(reports)
        if isinstance(error, StartError):
            raise
        raise StartError(f"{daemon.name} cannot be started: {error}") from error
    finally:
        os.close(ready)
    os.set_blocking(reports, False)
    mark = processes.mark(process.pid)
    return LocalChild(daemon, process, reports, mark, log_begins=log_begins)
