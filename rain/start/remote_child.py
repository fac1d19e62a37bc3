"""A daemon of another machine that is being started through an ssh session."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from pathlib import Path

from attrs import define, field

from rain.base.errors import StartError
from rain.start.children import Child, end_status, how_ended, log_end, popen, quoted
from rain.start.plan import PlannedDaemon
from rain.start.remote import (
    KEEP,
    Arrived,
    Ended,
    Failed,
    LogLine,
    Note,
    Ready,
    RemoteAccess,
    Report,
    Started,
    start_script,
)


@define(eq=False)
class RemoteChild(Child):
    """A daemon of another machine, and the ssh session that starts it."""

    ssh: subprocess.Popen[bytes] = field(kw_only=True)
    errors: Path = field(kw_only=True)  # the errors of ssh and of the remote shell
    arrived: bool = field(default=False, init=False)
    _status: int | None = field(default=None, init=False)
    _failure: str = field(default="", init=False)
    _log: list[str] = field(factory=list, init=False)

    def note(self, report: Report | None) -> None:
        match report:
            case Arrived():
                self.arrived = True
            case Started(mark):
                self.mark = mark
            case Ready(address, http):
                self.address, self.http = address, http
            case Ended(status):
                self._status = status
            case Failed(reason):
                self._failure = reason
            case LogLine(text):
                self._log.append(text)
            case Note() | None:
                pass  # a line of a login file

    def keep(self) -> None:
        """Ends the session, but keeps the governor running."""
        self._say(KEEP)

    def abandon(self) -> None:
        """Ends the session together with the governor."""
        self._say(b"")

    def why_ended(self) -> str:
        self.hear()
        who = f"{self.daemon.name} on {self.daemon.host}"
        if self._failure:
            return f"{who}: {self._failure}"
        if self._status is not None:
            # The shell reports a death by a signal as 128 plus its number.
            how = how_ended(128 - self._status if self._status > 128 else self._status)
            end = quoted(self._log)
            return f"{who} {how} before it was ready; its log {self.daemon.errors} {end}"
        return f"{who}: {self._session()} {how_ended(end_status(self))}; {self._said()}"

    def why_silent(self) -> str:
        who = f"{self.daemon.name} on {self.daemon.host}"
        if self.mark is None:
            what = f"started {who}" if self.arrived else f"reached {self.daemon.host}"
            return f"{self._session()} has not {what}; {self._said()}"
        return f"the log of {who} is {self.daemon.errors}"

    def _session(self) -> str:
        arguments = self.ssh.args
        program = arguments[0] if isinstance(arguments, list) else arguments
        return f"the session of {program!s}"

    def _said(self) -> str:
        return f"what it said, {self.errors}, {log_end(self.errors)}"

    def _say(self, word: bytes) -> None:
        if self.ssh.stdin is not None and not self.ssh.stdin.closed:
            with suppress(BrokenPipeError):  # then the session has ended, which is seen elsewhere
                self.ssh.stdin.write(word)
            self.ssh.stdin.close()


def spawn_remote(
    daemon: PlannedDaemon, access: RemoteAccess, server_boot: str, grace: float
) -> RemoteChild:
    """Opens the ssh session that starts a governor."""
    log = daemon.log_folder / f"{daemon.name}.ssh"
    try:
        with log.open("wb") as errors:
            process = popen(
                daemon,
                [*access.command(daemon.host)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
    except OSError as error:
        raise StartError(f"{daemon.name} cannot be started: {error}") from error
    if process.stdin is None or process.stdout is None:
        raise AssertionError("both are pipes")
    reports = os.dup(process.stdout.fileno())
    process.stdout.close()
    os.set_blocking(reports, False)
    with suppress(BrokenPipeError):  # then the session has ended, which is seen elsewhere
        process.stdin.write(start_script(daemon, access, server_boot, grace).encode())
    return RemoteChild(daemon, process, reports, ssh=process, errors=log)
