"""Keeps the journal of a running server: writes each turn, and carries out promises when they are
durable.

A turn is written before its effects are carried out. So no peer knows anything that a killed and
restarted server does not know. If the machine fails, the turns that were not synced are lost.
Therefore promises, which a client may rely on for good, are sent after their turn was synced. All
other effects are carried out at once: orders, the ends of waits, the bytes of results. Syncs run in
a thread, one at a time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import trio
from attrs import Factory, define

from rain.rpc.background import in_a_thread
from rain.server.core.messages import (
    DiscardConstants,
    Effect,
    Granted,
    TurnInput,
)
from rain.server.core.reactor import Reactor, TurnOutput
from rain.server.core.state import State
from rain.server.journal.compaction import Compaction
from rain.server.journal.idle import decided_nothing, is_idle
from rain.server.journal.records import encode_came, encode_turn
from rain.server.journal.writer import Writer
from rain.server.lease.lease import Lease

INTERVAL = 0.02
"""The least seconds between the beginnings of two syncs, unless something waits for one."""

Carry = Callable[[Effect], None]
"""Carries out an effect."""

_LATER = (Granted, DiscardConstants)  # a machine that comes back may still need their files


@define(eq=False)
class JournalKeeper:
    """Makes the turns of a server with a journal. `run` is to run beside them."""

    writer: Writer
    carry: Carry
    compaction: Compaction | None = None  # None if the journal is to grow
    lease: Lease | None = None  # when it is lost, no effect is carried out any more; None if no
    # other server can come
    _held: deque[tuple[int, Effect]] = Factory(deque)  # by the numbers of their turns
    _written: trio.Event = Factory(trio.Event)  # something is not synced
    _wanted: trio.Event = Factory(trio.Event)  # and something waits for that
    _syncing: trio.Lock = Factory(trio.Lock)  # a server that ends syncs once more

    def turn(self, reactor: Reactor, given: TurnInput, *, quiet: bool) -> TurnOutput:
        """Makes a turn, writes it, and carries out what need not wait.

        A quiet turn has only heartbeats; it is not written if it changes nothing. If the turn
        cannot be written, its effects are dropped.
        """
        may_be_left_out = quiet and is_idle(reactor.state, given.now)
        came = encode_came(self.writer.turns + 1, TurnInput(given.now) if quiet else given)
        output = reactor.turn(given)
        if may_be_left_out and decided_nothing(output):
            return output
        self.writer.write(encode_turn(came, output))
        self._written.set()
        self._check_lease(reactor.state)
        for effect in output.effects:
            if isinstance(effect, _LATER):
                self._held.append((self.writer.turns, effect))
                self._wanted.set()
            else:
                self.carry(effect)
        return output

    def _check_lease(self, state: State) -> None:
        """Between the writing of something and its effects: a server that was replaced has none."""
        if self.lease is not None:
            self.lease.check()
            state.succession.generation = self.lease.generation

    async def run(self) -> None:
        """Syncs what was written, again and again."""
        while True:
            await self._written.wait()
            started = trio.current_time()
            await self.sync()
            await self.close_long_file()
            with trio.move_on_at(started + INTERVAL):
                await self._wanted.wait()

    async def close_long_file(self) -> None:
        """Goes on in a new file if the old one is to become a part of a snapshot."""
        writer, compaction = self.writer, self.compaction
        if compaction is None or not compaction.is_due(writer.size):
            return
        async with self._syncing:
            writer.begin_next(compaction.header(writer.turns + 1))
            await self._sync()
            compaction.closed(writer.number - 1)

    async def sync(self) -> None:
        """Makes all turns durable that are written by now, and keeps their promises."""
        async with self._syncing:
            await self._sync()

    async def _sync(self) -> None:
        self._written = trio.Event()
        until = self.writer.turns
        await in_a_thread(self.writer.sync, abandon=False)
        self.keep_promises(until)

    def keep_promises(self, until: int) -> None:
        """All turns up to this number are synced: carries out what was promised in them."""
        if self.lease is not None:
            self.lease.check()
        held = self._held
        while held and held[0][0] <= until:
            self.carry(held.popleft()[1])
        if not held and self._wanted.is_set():
            self._wanted = trio.Event()
