"""Keeps connections to the holders of objects for a while, to use them again.

The next object often comes from the same holder. A holder that cannot be reached is not tried again
for a while (`ways`).
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from rain.base.address import Source, spell_address, split_address
from rain.base.admission import MemberKind, NotAcceptingError, NotAdmittedError
from rain.base.errors import ProtocolError
from rain.base.leading import Servers
from rain.base.wire.orders import SERVER
from rain.stream import sockets
from rain.stream.admission import dial_tls, introduce
from rain.stream.errors import NotHereError, NoWayError, StoppedError, UnreachableError
from rain.stream.protocol import HELLO
from rain.stream.sockets import BrokenError, Connected
from rain.stream.ways import Ways
from rain.tls.errors import TlsError
from rain.tls.keys import Keys

if TYPE_CHECKING:
    from rain.stream.calling_back import CallsBack

CONNECT_TIMEOUT = 10.0
HOLDER_TIMEOUT = 3.0
"""Seconds to connect to the server, and to a governor. The latter are lost when a firewall drops
what is said; then the server is asked instead."""

KEPT = 5.0
"""Seconds that an unused connection is kept: fewer than the other side keeps it."""


class Transfer:
    """One transfer, which can be stopped from another thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: Connected | None = None
        self.stopped = False

    def stop(self) -> None:
        """Stops the transfer; its thread raises `StoppedError` soon."""
        with self._lock:
            self.stopped = True
            if self._socket is not None:
                sockets.hang_up(self._socket)

    def use(self, connected: Connected) -> None:
        with self._lock:
            self._socket = connected
            if self.stopped:
                raise StoppedError("nobody wants it any more")

    def release(self) -> None:
        with self._lock:
            self._socket = None


class HolderConnections:
    """The connections of one reader, each used for one exchange at a time. Thread-safe."""

    def __init__(
        self,
        servers: Servers | None,
        connect_timeout: float,
        stall_limit: float,
        keys: Keys,
        calls_back: CallsBack | None,
    ) -> None:
        self._servers = servers
        self._connect_timeout = connect_timeout
        self._stall_limit = stall_limit
        self._keys = keys
        self._calls_back = calls_back  # of governors that cannot be connected to
        self._lock = threading.Lock()
        self._kept: dict[str, list[tuple[float, Connected]]] = {}
        self._ways = Ways()
        self._closed = False

    @property
    def server_address(self) -> str:
        """Of the one that leads now."""
        return "" if self._servers is None else self._servers.where

    @property
    def can_be_called_back(self) -> bool:
        return self._calls_back is not None

    def closed_ways(self) -> dict[str, str]:
        """The holders that cannot be connected to, and why."""
        with self._lock:
            return self._ways.closed(time.monotonic())

    def connect_to_server(self) -> Connected:
        """A new connection, for a governor that calls back; `UnreachableError`."""
        where = self.server_address
        return self._connect(where, split_address(where), self._connect_timeout)

    def close(self) -> None:
        """Closes unused connections; no connection is kept from now on."""
        with self._lock:
            self._closed = True
            kept, self._kept = self._kept, {}
        for connections in kept.values():
            for _, connected in connections:
                connected.close()

    def use(
        self,
        source: str,
        exchange: Callable[[Connected, int], None],
        transfer: Transfer,
        *,
        back: bool = False,
    ) -> None:
        """Makes one exchange over a connection, which is kept if there was no error.

        `back` says that the governor is asked to call back.
        """
        try:
            found = Source.read(source)
            address = self.server_address if source == SERVER else found.address
            where = split_address(address)
        except ProtocolError as error:
            raise UnreachableError(str(error)) from None
        holder = Source(address, found.incarnation).spell()
        place = f"back from {holder}" if back else holder  # in the pool
        connected = self._kept_one(place) or self._new_one(holder, where, found, back=back)
        in_order = False
        try:
            transfer.use(connected)
            exchange(connected, found.incarnation)
            in_order = True
        except ProtocolError as error:
            raise UnreachableError(f"{source}: {error}") from None
        except NotHereError:
            in_order = True
            raise
        finally:
            transfer.release()
            if in_order:
                sockets.limit_waiting(connected, self._stall_limit)
                self._keep(place, connected)
            else:
                connected.close()

    def _new_one(
        self, holder: str, where: tuple[str, int], found: Source, *, back: bool
    ) -> Connected:
        """A new connection to the holder, unless it is known that there is no way to it."""
        if back:
            assert self._calls_back is not None
            return self._calls_back.get(found.incarnation)
        address = spell_address(*where)
        if self._is_server(address):
            return self._connect(address, where, self._connect_timeout)
        with self._lock:
            if not self._ways.begins_try(holder, time.monotonic()):
                raise NoWayError(self._ways.why_closed(holder))
        try:
            connected = self._connect(address, where, min(self._connect_timeout, HOLDER_TIMEOUT))
        except NoWayError as error:
            with self._lock:
                self._ways.failed(holder, str(error), time.monotonic())
            raise
        with self._lock:
            self._ways.opened(holder)
        return connected

    def _is_server(self, address: str) -> bool:
        return self._servers is not None and self._servers.includes(address)

    def _connect(self, address: str, where: tuple[str, int], timeout: float) -> Connected:
        try:
            bare = socket.create_connection(where, timeout)
        except TimeoutError:
            raise NoWayError(f"{address}: no answer within {timeout:g} seconds") from None
        except OSError as error:
            raise NoWayError(f"{address}: {error.strerror}") from None
        member = MemberKind.SERVER if self._is_server(address) else MemberKind.GOVERNOR
        try:
            sockets.prepare(bare, self._stall_limit)
            connected = dial_tls(bare, self._keys.identity, member, self._stall_limit)
            introduce(connected, self._keys.secret)
            sockets.send(connected, HELLO)
        except TlsError as error:
            bare.close()
            raise NoWayError(f"{address}: {error.strerror}") from None
        except (OSError, BrokenError, NotAdmittedError, NotAcceptingError, ProtocolError) as error:
            bare.close()
            raise NoWayError(f"{address}: {error}") from None
        return connected

    def _kept_one(self, address: str) -> Connected | None:
        """Takes a usable connection from the pool; closes those that were kept for too long."""
        oldest = time.monotonic() - KEPT
        found: Connected | None = None
        with self._lock:
            for kept in self._kept.values():
                while kept and kept[0][0] < oldest:
                    kept.pop(0)[1].close()
            connections = self._kept.get(address)
            while connections and found is None:
                _, candidate = connections.pop()
                if sockets.is_silent(candidate):
                    found = candidate
                else:
                    candidate.close()
        return found

    def _keep(self, address: str, connected: Connected) -> None:
        with self._lock:
            if self._closed:
                connected.close()
            else:
                self._kept.setdefault(address, []).append((time.monotonic(), connected))
