"""Listens on a port, and survives that the system runs out of descriptors or memory."""

import errno
import logging
import socket
from collections.abc import Callable
from contextlib import suppress

import trio

from rain.base.address import plain_host, spell_address
from rain.base.errors import StartError
from rain.rpc.handshake import turn_away
from rain.stream.reserve import OUT_OF_DESCRIPTORS, Reserve, why_full

log = logging.getLogger(__name__)

BACKLOG = 1024
PAUSE = 0.5
"""Seconds before the next try when the system had no descriptor or memory left."""

TURN_AWAY_LIMIT = 1.0
"""Seconds that a peer has to read that it is turned away; the next one waits in the meantime."""

_SHORT_OF_MEMORY = {errno.ENOBUFS, errno.ENOMEM}
# accept(2): what went wrong with the connection that was next, not with the listening.
_LOST_ON_THE_WAY = {
    errno.ECONNABORTED,
    errno.EPERM,
    errno.EPROTO,
    errno.ENETDOWN,
    errno.ENETUNREACH,
    errno.EHOSTDOWN,
    errno.EHOSTUNREACH,
    errno.ETIMEDOUT,
}


ADVICE = "choose another address with --listen"


def bind(host: str, port: int, advice: str = ADVICE) -> socket.socket:
    """A socket that listens; `StartError` says where it cannot, why, and what to do."""
    try:
        found = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        # IPv4 first: peers that are told "localhost" or nothing look there.
        family, kind, protocol, _, address = min(
            found, key=lambda entry: entry[0] != socket.AF_INET
        )
        listening = socket.socket(family, kind, protocol)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            listening.listen(BACKLOG)
            listening.setblocking(False)
        except OSError:
            listening.close()
            raise
    except OSError as error:
        where = spell_address(host, port)
        raise StartError(f"cannot listen on {where}: {error.strerror}; {advice}") from None
    return listening


class Port:
    """Accepts connections while it runs; `take` gets the socket of each, and may be replaced."""

    def __init__(
        self,
        host: str,
        port: int,
        take: Callable[[socket.socket], object],
        advice: str = ADVICE,
    ) -> None:
        self._socket = bind(host, port, advice)
        name, number = self._socket.getsockname()[:2]
        self.host: str = plain_host(name)
        self.port: int = number  # also when it was left open which
        self.address = spell_address(self.host, self.port)
        self.take = take
        self._reserve = Reserve()
        self._scope = trio.CancelScope()
        self._closed = False

    def close(self) -> None:
        """Stops listening."""
        self._scope.cancel()
        if not self._closed:
            self._closed = True
            trio.lowlevel.notify_closing(self._socket)
            self._socket.close()
        self._reserve.close()

    async def run(self) -> None:
        """Accepts until it is closed."""
        try:
            with self._scope, suppress(trio.ClosedResourceError):
                while not self._closed:
                    await self._accept()
        finally:
            self.close()

    async def _accept(self) -> None:
        await trio.lowlevel.wait_readable(self._socket)
        if self._closed:
            return
        try:
            accepted, _ = self._socket.accept()
        except BlockingIOError:
            return
        except OSError as error:
            if error.errno in OUT_OF_DESCRIPTORS:
                # The kernel says it also when no peer has come: then the next one is waited for.
                if not await self._take_or_turn_away():
                    await trio.sleep(PAUSE)
            elif error.errno in _SHORT_OF_MEMORY:
                log.warning("cannot accept a connection: %s", error.strerror)
                await trio.sleep(PAUSE)
            elif error.errno not in _LOST_ON_THE_WAY:
                raise
        else:
            self.take(accepted)

    async def _take_or_turn_away(self) -> bool:
        """Tells the next peer that no descriptor is left; False when even that is impossible."""
        with suppress(OSError):
            accepted, _ = self._socket.accept()
            self.take(accepted)
            return True
        reason = why_full()
        if self._reserve.is_news():
            log.error("connections are turned away, because %s", reason)
        with self._reserve.lent():
            try:
                accepted, _ = self._socket.accept()
            except OSError:  # it has gone, or another thread has taken the descriptor
                return False
            with accepted, suppress(OSError, trio.TooSlowError):
                await turn_away(accepted, reason, TURN_AWAY_LIMIT)
            return True
