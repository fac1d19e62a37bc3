"""The scripts for remote shells and the parser of their answers. No I/O.

One ssh session per governor runs `/bin/sh`, gets the script below on its standard input, and lasts
until the governor is settled. The governor writes its readiness directly to the session, so nothing
is polled. At first it is a child of the remote shell and ends with the session, for any reason:
lost connections and killed launchers leave nothing behind. Only the word "keep" on the input of the
session makes it stay. The word "drain" lets it leave in order.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from attrs import field, frozen

from rain.start.plan import PlannedDaemon
from rain.start.processes import ProcessMark, parse_mark, spell_mark

READY_FD = 3
SECRET_FD = 5
TLS_FD = 6
KEEP, DRAIN = b"keep\n", b"drain\n"
_END = "RAIN_SECRET_END"
TAIL_LINES = 15


@frozen
class RemoteAccess:
    """How to run programs on other hosts: with the same paths as here."""

    ssh: tuple[str, ...]
    folder: Path  # the working folder
    init: str = ""  # shell commands to run first
    rain: tuple[str, ...] = ()
    secret: str = field(default="", repr=False)  # of the cluster, for governors that start there
    certificate: str = field(default="", repr=False)  # the same, with its key

    def command(self, host: str) -> tuple[str, ...]:
        """The command of a shell on that host that reads its standard input."""
        return (*self.ssh, host, "/bin/sh")


@frozen
class Arrived:
    """The session has reached the host."""


@frozen
class Started:
    """The process of the governor has started."""

    mark: ProcessMark


@frozen
class Ready:
    """The daemon serves at an address, and perhaps HTTP at another one."""

    address: str
    http: str = ""


@frozen
class Note:
    """A message of the daemon for the program that starts it."""

    text: str


@frozen
class Ended:
    """The governor has ended before it was ready."""

    status: int


@frozen
class Failed:
    """The governor could not be started."""

    reason: str


@frozen
class LogLine:
    """One of the last lines of the governor's log."""

    text: str


Report: TypeAlias = Arrived | Started | Ready | Note | Ended | Failed | LogLine


def read_report(line: str) -> Report | None:
    """Parses a line of the session; None for a line that a login file of the user may print."""
    word, _, rest = line.partition(" ")
    match word:
        case "|":
            return LogLine(rest)
        case "arrived" if not rest:
            return Arrived()
        case "failed":
            return Failed(rest)
        case "ready" if rest.split():
            return Ready(*rest.split()[:2])
        case "note":
            return Note(rest)
        case "ended" if rest.isdecimal():
            return Ended(int(rest))
        case "started":
            mark = parse_mark(rest)
            return None if mark is None else Started(mark)
        case _:
            return None


def start_script(
    daemon: PlannedDaemon, access: RemoteAccess, server_boot: str, grace: float
) -> str:
    """A script that starts a governor; when told to end, the governor has `grace` seconds."""
    folders = [daemon.log_folder]
    if daemon.work_folder is not None:
        folders.append(daemon.work_folder)
    beside = ""
    if daemon.beside_server:
        beside = (
            f"if [ $boot = {shlex.quote(server_boot)} ]; then"
            f" set -- {shlex.join(daemon.beside_server)}; fi"
        )
    secret, handed = "", ""
    if access.secret:
        # Part of this script and not of a command line, which all users could read.
        secret = f"--secret-fd {SECRET_FD} {SECRET_FD}<<'{_END}'"
        handed = f"{access.secret}\n{_END}\n"
    if access.certificate:
        secret += f" --tls-fd {TLS_FD} {TLS_FD}<<'{_END}'"
        handed += f"{access.certificate}\n{_END}\n"
    steps = "\n".join(
        (*_arrive(access), *(_make_folder(path) for path in folders), _make_log(daemon))
    )
    # A function, so that the shell reads the whole script first: the input is then used otherwise.
    return f"""main() {{
echo
echo arrived
{steps}
boot=$(cat /proc/sys/kernel/random/boot_id)
set --
{beside}
setsid {shlex.join(daemon.command)} "$@" --ready-fd {READY_FD} {secret} \\
    3>&1 4<&- >{_quote(daemon.output)} 2>{_quote(daemon.errors)} &
{handed}daemon=$!
stat=$(cat /proc/$daemon/stat 2>/dev/null)
set -- ${{stat##*) }}
start=${{20:-0}}
echo "started $daemon $start $boot"
trap 'exit 0' USR1
(
    while read -r verdict <&4; do
        if [ "$verdict" = keep ]; then kill -s USR1 $$; exit; fi
        if [ "$verdict" = drain ]; then kill -s USR2 $daemon; fi
    done
    {_ending(access, grace)} $daemon:$start:$boot || kill -s KILL $daemon
) >/dev/null 2>&1 &
judge=$!
wait $daemon
status=$?
{{ kill -s KILL -- -$daemon; kill $judge; }} 2>/dev/null
echo "ended $status"
tail -n {TAIL_LINES} {_quote(daemon.errors)} | sed 's/^/| /'
exit 1
}}
main 4<&0 </dev/null
"""


def end_script(access: RemoteAccess, marks: Sequence[ProcessMark], grace: float) -> str:
    """A script that ends processes on a host with the same code that ends them here."""
    command = f"{_ending(access, grace)} {shlex.join(spell_mark(mark) for mark in marks)}"
    steps = "\n".join(_arrive(access))
    return f"""main() {{
echo
{steps}
exec {command}
}}
main </dev/null
"""


def _ending(access: RemoteAccess, grace: float) -> str:
    module = [*access.rain[:-1], "rain.start.ending"]  # instead of `-m rain`
    return shlex.join([*module, f"{grace:g}"])


def _arrive(access: RemoteAccess) -> list[str]:
    steps = [
        f"cd {_quote(access.folder)} || {_fail(f'the folder {access.folder} cannot be entered')}"
    ]
    if access.init:
        # With eval, so that a syntax error in it cannot affect the rest of the script.
        steps.append(f"eval {shlex.quote(access.init)}")
        steps.append(f"[ $? = 0 ] || {_fail('the commands before the governor failed')}")
    return steps


def _make_folder(path: Path) -> str:
    made = f"( umask 077 && mkdir -p -- {_quote(path)} )"
    return f"{made} || {_fail(f'the folder {path} cannot be made')}"


def _make_log(daemon: PlannedDaemon) -> str:
    failure = _fail(f"the log {daemon.errors} cannot be written")
    # In a subshell: a failed redirection may end its shell.
    return f"( umask 077; : >{_quote(daemon.errors)} ) || {failure}"


def _fail(reason: str) -> str:
    return f"{{ printf 'failed %s\\n' {shlex.quote(reason)}; exit 1; }}"


def _quote(path: Path) -> str:
    return shlex.quote(str(path))
