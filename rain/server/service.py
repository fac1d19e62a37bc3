"""The I/O side of the server: runs the turns of the reactor, and carries out their effects.

Everything that arrives before a turn is one batch (`rain.daemon.turns`).
"""

from __future__ import annotations

from collections.abc import Callable

import trio
from structlog.typing import FilteringBoundLogger

from rain.base.silence import BEAT
from rain.base.users import UserRule
from rain.daemon.garbage import LargeSubmissions
from rain.daemon.turns import TurnLoop
from rain.scheduler.api import Scheduler
from rain.server.clock import Clock, Pulse
from rain.server.core.inbox import Inbox
from rain.server.core.messages import (
    ClientLeft,
    GovernorLeft,
    ServerReturned,
    ServerStoodStill,
    TurnInput,
    UsersRead,
)
from rain.server.core.reactor import Reactor
from rain.server.core.state import State
from rain.server.guard import TimeGuard
from rain.server.journal.keeping import Carry, JournalKeeper
from rain.server.links import Links
from rain.server.recording import Recorder, RecordingEnded
from rain.server.registration import Registration
from rain.server.spool import Spool

SIGN_OF_LIFE_WAIT = 0.5
"""Seconds for which a heartbeat of a governor waits for other events."""


class Service:
    """One reactor, and everything around it. Peers come by its `registration`."""

    def __init__(
        self,
        make_scheduler: Callable[[], Scheduler],
        state: State,
        clock: Clock,
        log: FilteringBoundLogger,
        uploads: Spool,
        recorder: Recorder | None = None,
        keep_journal: Callable[[Carry], JournalKeeper] | None = None,
    ) -> None:
        self.clock = clock
        self.guard = TimeGuard(state.settings.scheduler_limit, clock.stopwatch)
        self.reactor = Reactor(
            make_scheduler, state, self.guard, notes_plans=keep_journal is not None
        )
        self.guard.take()  # the time to make the scheduler is no time of a run
        self.log = log
        self.recorder = recorder
        self.turns = TurnLoop(self._turn, self._settle, clock.now)
        self._large_submissions = LargeSubmissions()
        self.inbox = Inbox(self.turns.ring, self._ring_soon)
        self._pulse = Pulse()
        self.links = Links(self.inbox, log, uploads, state)
        self.registration = Registration(state, self.links, uploads, self.turns.turn_now, log)
        self.journal = None if keep_journal is None else keep_journal(self.links.carry)

    def returns(self) -> None:
        """The first event of a server that goes on where an earlier one has ended."""
        self.inbox.from_governor(ServerReturned())

    async def look_at_the_time(self) -> None:
        """Checks in each heartbeat whether the server was suspended, even if no message comes."""
        while True:
            self._look(self.clock.now())
            await trio.sleep(BEAT)

    def hear_of_users(self, rules: tuple[UserRule, ...]) -> None:
        """The file of users was read again."""
        self.inbox.from_client(UsersRead(rules))
        self.turns.turn_now()

    def leave_nobody(self, reason: str) -> None:
        """Makes the last turns of a server that ends in order: all peers leave.

        So a server that continues from the journal knows that nobody comes back, and that only
        durable sessions are left. Governors leave last, when nearly none of their data is needed
        any more.
        """
        self._begin_to_end(reason)
        self._turn()  # peers whose end has been heard are not there any more
        graph = self.reactor.state.graph
        for client in graph.clients:
            self.inbox.from_client(ClientLeft(client, reason))
        self._turn()
        for governor in graph.governors:
            self.inbox.from_governor(GovernorLeft(governor, reason, on_purpose=True))
        self._turn()

    def stop(self, reason: str) -> None:
        """Ends all work: governors are stopped, and no wait goes on."""
        self._begin_to_end(reason)
        for governor in self.links.governors.values():
            governor.stop(reason)
        for client in self.links.clients.values():
            client.end_with_reason(reason)

    def _begin_to_end(self, reason: str) -> None:
        self.turns.stop()
        self.links.ending = True
        self.links.refuse_all(reason)

    def _ring_soon(self) -> None:
        self.turns.ring_at(self.clock.now() + SIGN_OF_LIFE_WAIT)

    def _look(self, now: float) -> None:
        seconds = self._pulse.stood_still(now)
        if seconds:
            self.log.info("the server stood still", seconds=round(seconds, 1))
            self.inbox.from_governor(ServerStoodStill(seconds))

    def _turn(self) -> None:
        now = self.clock.now()
        self._look(now)  # before any peer is given up in this turn
        quiet = self.inbox.quiet
        given = self.inbox.take(now, self.guard.take())
        if self.recorder is not None:
            self._record(self.recorder, given)
        if self.journal is not None:
            output = self.journal.turn(self.reactor, given, quiet=quiet)
        else:
            output = self.reactor.turn(given)
        if self.recorder is not None and output.interrupted_after is not None:
            self._record(self.recorder, output.interrupted_after)
        if self.journal is None:
            for effect in output.effects:
                self.links.carry(effect)

    def _record(self, recorder: Recorder, what: TurnInput | int) -> None:
        """Writes a turn, or how it was interrupted; on a full disk the run goes on without."""
        try:
            if isinstance(what, TurnInput):
                recorder(what)
            else:
                recorder.interrupted(what)
        except RecordingEnded as error:
            self.log.error("the recording has ended; the server goes on without", cause=str(error))
            recorder.close()
            self.recorder = None

    def _settle(self) -> float:
        """Does the work that can wait until the messages of a turn have left."""
        self.reactor.settle()
        state = self.reactor.state
        if state.growing or self._large_submissions.spared:
            growing, nodes = bool(state.growing), state.graph.nodes
            self._large_submissions.after_turn(state.now, growing=growing, nodes=nodes)
        return self.reactor.next_time()
