"""Carries out the plan of a start: all or nothing.

The server is started first, then all governors at once. If anything goes wrong (a daemon dies, is
not ready in time, or this program gets a signal), every started process is ended again.
"""

from __future__ import annotations

import os
import selectors
import signal
from collections.abc import Sequence
from contextlib import suppress
from time import monotonic
from types import TracebackType
from typing import Self

from rain.base.errors import StartError
from rain.start.children import Child, end_status
from rain.start.ending import end_processes, wait_readable
from rain.start.interrupts import SignalDescriptor
from rain.start.local_child import LocalChild, spawn_local
from rain.start.plan import PlannedDaemon
from rain.start.remote import RemoteAccess
from rain.start.remote_child import RemoteChild, spawn_remote
from rain.start.template_child import TemplateChild, spawn_template

GRACE = 5.0  # seconds that the daemons of a failed start have to end
_GOODBYE = 5.0  # more seconds in which a session must report that it has ended


class Launch:
    """A context of children that are being started; all are ended on exit without `settle`."""

    def __init__(self, interrupts: SignalDescriptor, timeout: float) -> None:
        self._interrupts = interrupts
        self._timeout = timeout
        self._deadline = monotonic() + timeout
        self._children: list[Child] = []
        self._settled = False
        self._selector = selectors.DefaultSelector()
        self._selector.register(interrupts, selectors.EVENT_READ)
        self._pidfds: dict[int, Child] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            left = [] if self._settled else self._end_all()
            if left:
                raise StartError(
                    f"{error}\n{', '.join(left)} may still run: no answer came from there"
                ) from error
        finally:
            self._close()

    def local(self, daemon: PlannedDaemon, *, again: bool = False) -> Child:
        """Starts a daemon on this machine, perhaps one that was started before."""
        self._interrupts.check()
        return self._watch(spawn_local(daemon, again=again))

    def template(self, daemon: PlannedDaemon) -> TemplateChild:
        """Starts the template process, of which the governors of this machine are copies."""
        self._interrupts.check()
        child = spawn_template(daemon)
        self._watch(child)
        return child

    def copies(self, template: TemplateChild, daemons: Sequence[PlannedDaemon]) -> list[Child]:
        """Starts daemons on this machine as copies of the template, which then ends."""
        for daemon in daemons:
            self._interrupts.check()
            template.order(daemon)
        self.wait_until_ready([template])
        children = [self._watch(child) for child in template.children()]
        self._forget(template)
        template.release()
        return children

    def remote(self, daemon: PlannedDaemon, access: RemoteAccess, server_boot: str) -> Child:
        """Starts a daemon on its host."""
        self._interrupts.check()
        return self._watch(spawn_remote(daemon, access, server_boot, GRACE))

    def wait_until_ready(self, children: Sequence[Child]) -> None:
        """Waits until all are ready; raises StartError as soon as that is impossible."""
        while not all(child.ready for child in children):
            if not self._turn(self._deadline):
                raise StartError(self._too_late(children))

    def pass_time(self, seconds: float) -> None:
        """Lets time pass; raises StartError when a daemon ends meanwhile.

        For polling: a batch system does not announce changes.
        """
        self._turn(monotonic() + seconds)

    @property
    def has_time(self) -> bool:
        """Whether the start may take longer."""
        return monotonic() < self._deadline

    def settle(self) -> None:
        """Lets all daemons keep running when this program ends."""
        sessions = [child for child in self._children if isinstance(child, RemoteChild)]
        for child in sessions:
            child.keep()
        leaving = set(sessions)
        deadline = monotonic() + _GOODBYE
        while leaving:
            if not self._turn(deadline, leaving):
                hosts = ", ".join(sorted(child.daemon.host for child in leaving))
                raise StartError(f"the sessions on {hosts} do not end")
        self._settled = True

    def _watch(self, child: Child) -> Child:
        self._children.append(child)
        pidfd = os.pidfd_open(child.process.pid)
        self._pidfds[pidfd] = child
        self._selector.register(pidfd, selectors.EVENT_READ)
        self._selector.register(child.reports, selectors.EVENT_READ, child)
        return child

    def _forget(self, child: Child) -> None:
        self._children.remove(child)
        (pidfd,) = (pidfd for pidfd, watched in self._pidfds.items() if watched is child)
        del self._pidfds[pidfd]
        for descriptor in (pidfd, child.reports):
            self._selector.unregister(descriptor)
            os.close(descriptor)

    def _turn(self, deadline: float, leaving: set[RemoteChild] | None = None) -> bool:
        """Waits for reports or ends and handles them; False if nothing happened in time.

        No process may end except those of sessions that are leaving.
        """
        events = self._selector.select(max(0.0, deadline - monotonic()))
        self._interrupts.check()
        for key, _ in events:
            if key.data is not None:
                child: Child = key.data
                if not child.hear():
                    self._selector.unregister(key.fileobj)
        for key, _ in events:
            child_ended = self._pidfds.get(key.fd)
            if child_ended is None:
                continue
            if leaving is not None and child_ended in leaving and end_status(child_ended) == 0:
                self._selector.unregister(key.fd)
                leaving.discard(child_ended)
            else:
                child_ended.hear()
                raise StartError(child_ended.why_ended())
        return bool(events)

    def _too_late(self, children: Sequence[Child]) -> str:
        late = [child for child in children if not child.ready]
        names = ", ".join(child.daemon.name for child in late[:3])
        if len(late) > 3:
            names += f" and {len(late) - 3} more"
        were = "was" if len(late) == 1 else "were"
        return f"{names} {were} not ready within {self._timeout:g} seconds: {late[0].why_silent()}"

    def _end_all(self) -> list[str]:
        """Ends everything; returns the daemons on hosts that did not answer."""
        sessions = [
            (pidfd, child)
            for pidfd, child in self._pidfds.items()
            if isinstance(child, RemoteChild)
        ]
        for _, session in sessions:
            session.abandon()
            session.hear()
            if not session.arrived:
                # It may hang while connecting. If it connects later, it finds its input closed.
                _kill_group(session, signal.SIGTERM)
        for child in self._children:
            if isinstance(child, TemplateChild):
                child.abandon()
        daemons = [child for child in self._children if isinstance(child, LocalChild)]
        end_processes([daemon.mark for daemon in daemons if daemon.mark is not None], GRACE)
        for daemon in daemons:
            _kill_group(daemon, signal.SIGKILL)
            daemon.process.wait()
        deadline = monotonic() + GRACE + _GOODBYE
        silent: list[str] = []
        for pidfd, session in sessions:
            if not wait_readable([pidfd], deadline - monotonic()):
                silent.append(f"{session.daemon.name} on {session.daemon.host}")
                _kill_group(session, signal.SIGKILL)
            session.process.wait()
        return silent

    def _close(self) -> None:
        self._selector.close()
        for pidfd, child in self._pidfds.items():
            os.close(pidfd)
            os.close(child.reports)
            if self._settled and isinstance(child, LocalChild):
                # It outlives this program; this avoids the warning of Popen.
                child.process.returncode = 0
            else:
                child.process.wait()


def _kill_group(child: Child, number: signal.Signals) -> None:
    # The group's number cannot be reused yet, because its leader was not reaped.
    with suppress(ProcessLookupError):
        os.killpg(child.process.pid, number)
