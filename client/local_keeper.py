"""Watches an embedded cluster: it replaces governors that have died. A dead server ends the
cluster.

A thread of the client's process waits for the end of any daemon. If governors die again and again,
so will the next one. Therefore the number of deaths in a row is limited.
"""

import logging
import os
import select
import threading
import time
from collections.abc import Callable
from pathlib import Path

from rain.client.local_daemon import Daemon, spell_end

_log = logging.getLogger("rain.client")

IN_A_ROW = 5
"""After this many deaths in a row, each soon after a start, the cluster is given up."""

CALM = 60.0
"""Seconds: a governor that has lived for longer begins a new row."""

PARTING = 1.0
"""Seconds that the server has to end, too, when a governor has ended in order."""


class DeathsInARow:
    """How many governors have died one after the other, none of them old. Pure."""

    def __init__(self, longest: int = IN_A_ROW, calm: float = CALM) -> None:
        self.deaths = 0
        self._longest = longest
        self._calm = calm

    def is_too_long(self, lived: float) -> bool:
        """Counts a death, this many seconds after the start; returns whether there were too many in
        a row.
        """
        self.deaths = 1 if lived > self._calm else self.deaths + 1
        return self.deaths >= self._longest


class Keeper:
    """Watches one server and its governors, which stand in `governors`, until it is stopped."""

    def __init__(
        self,
        server: Daemon,
        governors: list[Daemon],
        replace: Callable[[int], Daemon],
        folder: Path,
        give_up: Callable[[], object],
    ) -> None:
        self.verdict = ""  # what has died for good, once something has
        self.has_seen_a_death = False
        self._server = server
        self._governors = governors
        self._replace = replace  # starts another governor of this number
        self._folder = folder
        self._give_up = give_up
        self._row = DeathsInARow()
        self._born = dict.fromkeys(governors, time.monotonic())
        self._descriptors = {_descriptor(daemon): daemon for daemon in (server, *governors)}
        self._stop_read, self._stop_write = os.pipe()
        self._thread = threading.Thread(target=self._watch, name="rain-keeper", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Returns when nothing is watched or started any more."""
        os.close(self._stop_write)
        self._thread.join()
        os.close(self._stop_read)
        for descriptor in self._descriptors:
            os.close(descriptor)

    def _watch(self) -> None:
        while True:
            ended, _, _ = select.select([self._stop_read, *self._descriptors], [], [])
            if self._stop_read in ended:
                return
            for descriptor in ended:
                daemon = self._descriptors.pop(descriptor)
                os.close(descriptor)
                self.has_seen_a_death = True
                if not self._took(daemon):
                    return

    def _took(self, daemon: Daemon) -> bool:
        """A daemon has ended; returns whether the cluster goes on."""
        if daemon is self._server:
            return self._is_over(f"the embedded server {spell_end(daemon.end())}")
        status = daemon.end()
        if not status and self._server_parts():
            return True  # its end is reported next, or is of no interest
        if self._server.status() is not None:
            return self._is_over(f"the embedded server {spell_end(self._server.end())}")
        if self._row.is_too_long(time.monotonic() - self._born.pop(daemon)):
            return self._is_over(
                f"the embedded {daemon.name} has died {self._row.deaths} times in a row: at last it"
                f" {spell_end(status)}"
            )
        _log.warning(
            "the embedded %s %s: another one takes its place, and what it has not finished runs"
            " again; its logs are in %s",
            daemon.name,
            spell_end(status),
            daemon.logs,
        )
        number = self._governors.index(daemon)
        try:
            another = self._governors[number] = self._replace(number)
        except OSError as error:
            return self._is_over(
                f"the embedded {daemon.name} {spell_end(status)}, and another one cannot be"
                f" started: {error.strerror}"
            )
        self._born[another] = time.monotonic()
        self._descriptors[_descriptor(another)] = another
        return True

    def _server_parts(self) -> bool:
        """Whether the server ends as well, or all of the cluster does."""
        servers = [one for one, daemon in self._descriptors.items() if daemon is self._server]
        return bool(select.select([self._stop_read, *servers], [], [], PARTING)[0])

    def _is_over(self, what: str) -> bool:
        self.verdict = f"{what}; all logs are in {self._folder}"
        self._give_up()
        return False


def _descriptor(daemon: Daemon) -> int:
    """Can be read when the process has ended."""
    return os.pidfd_open(daemon.pid)
