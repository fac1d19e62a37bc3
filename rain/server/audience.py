"""Passes the output of running tasks from governors to the clients that watch it.

Nothing in the state depends on this output. So it does not pass through the reactor, and is not
kept. A slow client delays nobody: the server keeps a limited amount of unread output for it, and
only counts the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import Factory, define, evolve

from rain.base.ids import ClientId, GovernorId
from rain.base.printed_lines import LineBuffer
from rain.base.wire.printed import PrintedLines, Watch
from rain.rpc.handlers import GovernorLink, Reply

MOST_WAITING = 256 * 1024
"""Characters that wait for one client."""

Lines = Sequence[PrintedLines]


@define(eq=False)
class _Watcher:
    """A client that watches, or has watched: its unread output stays until it is read."""

    number: int
    watch: Watch | None = None
    waiting: LineBuffer = Factory(lambda: LineBuffer(MOST_WAITING))
    reply: Reply[Lines] | None = None

    def answer(self) -> None:
        """Answers the waiting request if there is any output, or if there will be no more."""
        if self.reply is not None and (self.waiting or self.watch is None):
            reply, self.reply = self.reply, None
            reply.answer(self.waiting.take())


@define(eq=False)
class Audience:
    """All clients that watch."""

    governors: Mapping[GovernorId, GovernorLink]
    _clients: dict[ClientId, _Watcher] = Factory(dict)
    _numbers: dict[int, _Watcher] = Factory(dict)
    _last: int = 0

    def watch(self, client: ClientId, watch: Watch | None) -> None:
        """Sets what a client watches from now on; None for nothing."""
        watcher = self._clients.get(client)
        if watcher is None:
            if watch is None:
                return
            self._last += 1
            watcher = self._clients[client] = self._numbers[self._last] = _Watcher(self._last)
        if watcher.watch == watch:
            return
        watcher.watch = watch
        for governor in self.governors.values():
            governor.watch(watcher.number, watch)
        watcher.answer()

    def joined(self, governor: GovernorLink) -> None:
        """Sends all watches to a new governor."""
        for watcher in self._numbers.values():
            if watcher.watch is not None:
                governor.watch(watcher.number, watcher.watch)

    def printed(self, address: str, number: int, lines: Lines) -> None:
        """A governor has sent output. Output for a watch that has ended may come late, and is
        ignored.
        """
        watcher = self._numbers.get(number)
        if watcher is None or watcher.watch is None:
            return
        for one in lines:
            watcher.waiting.add(evolve(one, governor=address))
        watcher.answer()

    def ask(self, client: ClientId, wait: bool, reply: Reply[Lines]) -> None:
        """A client asks for output that it has not received yet. This ends its earlier request."""
        watcher = self._clients.get(client)
        if watcher is None:
            reply.answer([])
            return
        if watcher.reply is not None:
            watcher.reply.answer([])
            watcher.reply = None
        if wait:
            watcher.reply = reply
            watcher.answer()
        else:
            reply.answer(watcher.waiting.take())

    def abandoned(self, client: ClientId, reply: Reply[Lines]) -> None:
        """A client has given up such a request: the next one gets what it would have got."""
        watcher = self._clients.get(client)
        if watcher is not None and watcher.reply is reply:
            watcher.reply = None

    def left(self, client: ClientId) -> None:
        """A client has gone, and its watch ends."""
        self.watch(client, None)
        watcher = self._clients.pop(client, None)
        if watcher is not None:
            del self._numbers[watcher.number]
