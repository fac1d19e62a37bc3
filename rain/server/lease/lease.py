"""The lease of a running server: it is renewed in a thread, and checked before the effects of each
turn.

A turn may take long, and a server may be suspended. So a thread renews the lease, and each turn
checks the clock after the turn was written and before its effects are carried out. A server whose
lease has lapsed tries to take it again, as the next generation. If it was the only server, it just
goes on. If another one was faster, this one ends.
"""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from math import inf

import trio
from structlog.typing import FilteringBoundLogger

from rain.base.errors import RainError
from rain.rpc.background import in_a_thread
from rain.server.lease.rules import BEATS, Holding, LeaseHolder, Record
from rain.server.lease.store import LeaseStore, LeaseStoreError


class LeaseLostError(RainError):
    """Another server leads the cluster, or may do so: this one ends, without any further
    message.
    """


class Lease:
    """A lease that was taken. All its times are of the monotonic clock of this machine."""

    def __init__(
        self,
        store: LeaseStore,
        holding: Holding,
        log: FilteringBoundLogger,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._holding = holding
        self._log = log
        self._clock = clock
        self._trouble = ""  # why the last renewal did not work
        self._lost = ""  # why there will be none
        self._using = threading.Lock()  # the store
        self._ending = threading.Event()

    @property
    def generation(self) -> int:
        return self._holding.record.generation

    def check(self) -> None:
        """Returns if this server leads the cluster now; raises `LeaseLostError` if it may not."""
        if not self._holding.holds(self._clock()):
            self._take_again()

    def renew(self) -> None:
        """Writes the record once more. Any thread."""
        with self._using:
            holding, began = self._holding, self._clock()
            if self._lost or not holding.holds(began):
                return  # `check` finds out what has become of it
            try:
                record = self._renewed(holding.record)
            except LeaseStoreError as error:
                self._trouble = str(error)
                return
            if record is None:
                self._lose()
            else:
                self._trouble = ""
                self._holding = holding.renewed(record, began, self._clock())

    def _renewed(self, record: Record) -> Record | None:
        """The record as it was written; None if another server has taken the lease."""
        while not self._store.put(record, after := record.renewed()):
            found = self._store.read()
            if not _is_same(found, record) or found == record:
                return None
            record = found  # an earlier renewal had arrived, though its caller was not told so
        return after

    def _lose(self) -> None:
        try:
            found = self._store.read()
            self._lost = f"the server at {found.holder.address} has taken it"
        except LeaseStoreError as error:
            self._lost = str(error)
        self._holding = Holding(self._holding.record, -inf)

    def _take_again(self) -> None:
        length = self._holding.record.length
        if not self._using.acquire(timeout=length):
            self._trouble = "its store does not answer"
            raise self._error()
        try:
            began = self._clock()
            if self._holding.holds(began):  # it was renewed at last
                return
            if not self._lost:
                self._take_next(began)
            if not self._holding.holds(self._clock()):
                raise self._error()
        finally:
            self._using.release()

    def _take_next(self, began: float) -> None:
        former = self._holding.record
        try:
            found = self._store.read()
            if not _is_same(found, former):
                self._lose()
                return
            record = found.taken_by(former.holder, former.length)
            if not self._store.put(found, record):
                self._lose()
                return
        except LeaseStoreError as error:
            self._trouble = str(error)
            return
        self._holding = Holding.of(record, began)
        self._log.warning(
            "the lease had lapsed, and was taken again",
            generation=record.generation,
            cause=self._trouble or "the server stood still",
        )

    def _error(self) -> LeaseLostError:
        length = self._holding.record.length
        cause = self._lost or self._trouble or "the server stood still"
        return LeaseLostError(
            f"the lease of the journal ({self._store.where}) was lost: {cause}. It lapses when it"
            f" was not renewed for {length:g} seconds. This server ends, since another one may lead"
        )

    # Its life.

    @asynccontextmanager
    async def held(self) -> AsyncGenerator[None]:
        """Renews it during the block, and lets it go in the end."""
        thread = threading.Thread(target=self._keep_renewing, name="rain-lease", daemon=True)
        thread.start()
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._keep_checking)
                yield
                nursery.cancel_scope.cancel()
        finally:
            self._ending.set()
            with trio.CancelScope(shield=True):
                await in_a_thread(self.let_go, abandon=False)

    def _keep_renewing(self) -> None:
        while not self._ending.wait(self._holding.record.length / BEATS):
            self.renew()

    async def _keep_checking(self) -> None:
        """Also when there are no turns."""
        while True:
            await trio.sleep(max(self._holding.until - self._clock(), 0.0))
            self.check()

    def let_go(self, *, over: bool = False) -> None:
        """Another server may take it at once; none will if the cluster is over."""
        if not self._using.acquire(timeout=self._holding.record.length):
            return  # the store does not answer; the lease will lapse
        try:
            record = self._holding.record
            if not self._lost and not record.released:
                after = record.let_go(over=over)
                self._store.put(record, after)
                self._holding = Holding(after, -inf)
        except LeaseStoreError as error:
            self._log.warning("the lease was not let go, and lapses", cause=str(error))
        finally:
            self._using.release()


def take(
    store: LeaseStore,
    found: Record,
    holder: LeaseHolder,
    length: float,
    above: int,
    log: FilteringBoundLogger,
    clock: Callable[[], float] = time.monotonic,
) -> Lease | None:
    """Takes the lease if the record is still what was found; None if another one was faster."""
    began = clock()
    record = found.taken_by(holder, length, above)
    if not store.put(found, record):
        return None
    holding = Holding.of(record, began)
    return Lease(store, holding, log, clock) if holding.holds(clock()) else None


def _is_same(found: Record, ours: Record) -> bool:
    """Whether both records are of the same taking of the lease by the same server."""
    return (found.generation, found.holder) == (ours.generation, ours.holder)
