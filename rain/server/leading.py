"""Makes a server the leader of its cluster: it takes the lease of the journal, or waits for it.

A server without `--standby` takes the lease, or fails with the name of the holder. A standby waits.
While it waits, it repeats the turns of the leading server, so that little is left to read when it
takes over.
"""

from __future__ import annotations

import os
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import trio
from attrs import define
from structlog import get_logger
from structlog.typing import FilteringBoundLogger

from rain.base.address import spell_address
from rain.base.errors import StartError
from rain.daemon import lifetime
from rain.rpc.background import in_a_thread
from rain.rpc.port import Port
from rain.rpc.standing_by import stand_by
from rain.server.core.reactor_settings import ReactorSettings
from rain.server.journal.folder import JournalFolder
from rain.server.journal.journal import Journal, open_journal
from rain.server.journal.reading import latest_generation
from rain.server.journal.recovery import BehindError, Recovered, Recovery, recover
from rain.server.lease.folder import FolderStore
from rain.server.lease.holder import this_server
from rain.server.lease.lease import Lease, take
from rain.server.lease.places import store_of
from rain.server.lease.rules import NOBODY, LeaseHolder, LeaseWatch, Record
from rain.server.lease.store import LeaseStore, LeaseStoreError
from rain.server.settings import LEASE_SECONDS, ServerSettings

PAUSE = 0.2
"""Seconds between two looks at a lease, and at what the other server has written."""


@define(eq=False)
class Candidate:
    """A server that is about to lead."""

    folder: JournalFolder
    store: LeaseStore
    holder: LeaseHolder
    length: float  # of its lease, in seconds
    log: FilteringBoundLogger
    clock: Callable[[], float] = time.monotonic
    mark: FolderStore | None = None  # in the folder, of a server whose lease is elsewhere

    async def take_now(self) -> Lease:
        """Takes the lease if it is free; `StartError` says who has.

        A server on another machine may have died without releasing the lease: then this waits until
        the lease would have lapsed.
        """
        watching, first = LeaseWatch(), None
        while True:
            try:
                found, has_ended = await in_a_thread(partial(self.look, watching), abandon=False)
            except LeaseStoreError as error:
                raise StartError(f"cannot find out which server has the journal: {error}") from None
            is_first, first = first is None, first or found
            if watching.may_take(has_ended=has_ended):
                lease = await in_a_thread(partial(self.take, found), abandon=False)
                if lease is not None:
                    return lease
                found = await in_a_thread(self.store.read, abandon=False)
            is_here = found.holder.machine == self.holder.machine
            if found != first or (is_here and not has_ended):
                raise StartError(
                    f"the journal {self.folder.path} is used by another server{_who(found)}; end"
                    " that one, wait for its end with --standby, or choose another folder"
                    " (--journal)"
                )
            if is_first:
                text = "waits to see whether the last server of the journal is still alive"
                self.log.info(text, where=found.holder.spell(), seconds=found.length)
            await trio.sleep(PAUSE)

    async def stand_by(self, settings: ReactorSettings) -> tuple[Lease, Recovery | None] | None:
        """Waits for the lease; the journal is read by then but for its end.

        None if the cluster has ended: its leader was told to end it.
        """
        watching, following = LeaseWatch(), FollowedJournal(self.folder, settings, self.log)
        trouble, led_by = "", NOBODY
        while True:
            try:
                found, has_ended = await in_a_thread(partial(self.look, watching), abandon=False)
                if found.over and led_by.holder == found.holder:
                    return None
                if watching.may_take(has_ended=has_ended):
                    lease = await in_a_thread(partial(self.take, found), abandon=False)
                    if lease is not None:
                        return lease, following.recovery
                elif found.holder != led_by.holder:
                    led_by = found
                    self.log.info("another server leads", address=found.holder.address)
                trouble = ""
            except LeaseStoreError as error:
                if not trouble:
                    trouble = str(error)
                    self.log.warning("the lease cannot be read", cause=trouble)
            await in_a_thread(following.follow, abandon=False)
            await trio.sleep(PAUSE)

    def look(self, watching: LeaseWatch) -> tuple[Record, bool]:
        """The lease as it is now, and whether its holder is known to have ended."""
        began = self.clock()
        found = self.store.read()
        watching.look(found, began, self.clock())
        has_ended = self.store.has_ended(found)
        if self.mark is not None and not has_ended:
            marked = self.mark.read()
            has_ended = marked.holder == found.holder and self.mark.has_ended(marked)
        return found, has_ended

    def take(self, found: Record) -> Lease | None:
        """Takes the lease that may be taken; None if another server was faster."""
        above = latest_generation(self.folder)
        lease = take(self.store, found, self.holder, self.length, above, self.log, self.clock)
        if lease is not None and self.mark is not None:
            marked = self.mark.read()
            self.mark.put(marked, marked.taken_by(self.holder, self.length))
        return lease


@define(eq=False)
class FollowedJournal:
    """A standby's view of the journal, which another server writes."""

    folder: JournalFolder
    settings: ReactorSettings
    log: FilteringBoundLogger
    recovery: Recovery | None = None

    def follow(self) -> None:
        """Makes the turns again that have come since the last time."""
        try:
            if self.recovery is None:
                self.recovery = Recovery.begin(self.folder, self.settings)
            self.recovery.catch_up()
        except (BehindError, FileNotFoundError) as error:
            # A snapshot has taken the place of what was next, or a server that was replaced had
            # written more than its successor has read.
            self.log.info("the standby reads the journal anew", cause=str(error))
            if self.recovery is not None:
                self.recovery.close()
            self.recovery = None


def read_to_end(
    folder: JournalFolder, settings: ReactorSettings, recovery: Recovery | None
) -> Recovered:
    """The whole journal, of which a standby has read all but the end."""
    if recovery is not None:
        try:
            return recovery.finish()
        except BehindError:
            recovery.close()  # it is read from its beginning
    return recover(folder, settings)


def remove_journal(path: Path) -> None:
    """Removes a journal that no server uses."""
    folder = JournalFolder.look_into(path)
    if not path.is_dir() or not folder.is_journal():
        raise StartError(f"{path} is no journal of a server")
    store = FolderStore(folder.leases())
    remover = Candidate(folder, store, this_server("rain journal"), LEASE_SECONDS, get_logger())
    try:
        trio.run(remover.take_now)
        folder.remove()
    finally:
        store.close()


def _who(found: Record) -> str:
    holder = found.holder
    return f" ({holder.spell()})" if holder.host else ""


@define(eq=False)
class Led:
    """The lease, journal and port of a server that leads."""

    lease: Lease
    journal: Journal
    port: Port | None = None  # of a standby


@asynccontextmanager
async def lead(
    path: Path, settings: ServerSettings, log: FilteringBoundLogger
) -> AsyncGenerator[Led | None]:
    """Leads the cluster of a journal during the block; None if a standby was told to end."""
    folder = JournalFolder.open(path)
    store = store_of(settings.lease, folder.leases())
    mark = FolderStore(folder.leases()) if settings.lease else None
    try:
        async with trio.open_nursery() as nursery:
            port = _open_port(nursery, settings) if settings.standby else None
            address = port.address if port else spell_address(settings.host, settings.port)
            holder = this_server(address)
            candidate = Candidate(folder, store, holder, settings.lease_seconds, log, mark=mark)
            recovery = None
            if port is None:
                lease: Lease | None = await candidate.take_now()
            else:
                settings.readiness.announce(port.address)
                log.info("standby ready", address=port.address, journal=str(folder.path))
                lease, recovery = await _wait(candidate, settings, log)
            if lease is None:
                yield None
            else:
                async with lease.held():
                    recovered = await in_a_thread(
                        partial(read_to_end, folder, settings.reactor, recovery), abandon=False
                    )
                    journal = open_journal(folder, recovered, lease.generation, log)
                    yield Led(lease, journal, port)
            nursery.cancel_scope.cancel()
    finally:
        store.close()
        if mark is not None:
            mark.close()


def _open_port(nursery: trio.Nursery, settings: ServerSettings) -> Port:
    """All that could keep a standby from leading is told when it starts."""
    if settings.http is not None and settings.http.own_port is not None:
        # Not for a server that serves no HTTP.
        from rain.server.http.listener import check_free  # noqa: PLC0415

        check_free(settings.http.own_port)
    return stand_by(nursery, settings.host, settings.port, settings.identity)


async def _wait(
    candidate: Candidate, settings: ServerSettings, log: FilteringBoundLogger
) -> tuple[Lease | None, Recovery | None]:
    """Stands by until it leads, or is told to end."""
    found: tuple[Lease, Recovery | None] | None = None
    causes: list[str] = []
    parent = None if settings.parent_fd is None else os.dup(settings.parent_fd)

    async with trio.open_nursery() as nursery:

        async def end() -> None:
            causes.append(await lifetime.end(parent))
            nursery.cancel_scope.cancel()

        nursery.start_soon(end)
        found = await candidate.stand_by(settings.reactor)
        if found is None:
            causes.append("the cluster has ended")
        nursery.cancel_scope.cancel()
    if found is not None:
        log.info("standby takes over", generation=found[0].generation)
        return found
    log.info("standby ends", cause=causes[0])
    return None, None
