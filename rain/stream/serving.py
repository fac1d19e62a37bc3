"""Serves streams: one thread per connection, while its reader sends requests.

A thread that waits for a slow reader costs almost nothing and delays no one. There are at most
`THREADS_AT_ONCE` threads; further connections wait for a thread and then get one answer each.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from attrs import frozen

from rain.base.admission import NotAdmittedError
from rain.base.errors import ProtocolError, RefusedError
from rain.base.ids import GovernorId, ObjectId, spell
from rain.base.shortage import is_shortage
from rain.stream import sockets
from rain.stream.admission import accept_tls, admit
from rain.stream.archive import Archive, ChangedError
from rain.stream.blocks import Unpacking, answer_with
from rain.stream.bodies import Body, OfFile, OfMemory
from rain.stream.errors import UnreachableError
from rain.stream.holder import Elsewhere, Held, Holder, InFar, InFile, InFolder, InMemory
from rain.stream.host_links import HostLinks
from rain.stream.part_serving import give_parts
from rain.stream.protocol import HELLO, NOBODY, REQUEST_SIZE, Ask, Say, StreamAnswer, StreamRequest
from rain.stream.ranges import Range, give_far_range, give_range
from rain.stream.relaying import Relay
from rain.stream.sockets import BrokenError, Connected
from rain.stream.stamps import Stamp
from rain.tls.encrypted import Encrypted
from rain.tls.keys import NO_KEYS, Keys

if TYPE_CHECKING:
    from rain.stream.calling_back import CallsBack

log = logging.getLogger(__name__)

THREADS_AT_ONCE = 256


@frozen
class StreamLimits:
    """The limits of a server of streams."""

    stall: float = sockets.STALL_LIMIT  # seconds in which nothing moves in the middle of an answer
    first_word: float = 10.0  # seconds of silence at the start and between two requests
    threads: int = THREADS_AT_ONCE


class StreamServer:
    """All connections of readers."""

    def __init__(
        self,
        holder: Holder,
        relay: Relay | None = None,
        *,
        machine: bytes = NOBODY,
        limits: StreamLimits = StreamLimits(),  # it is frozen
        keys: Keys = NO_KEYS,
        calls_back: CallsBack | None = None,
    ) -> None:
        self._holder = holder
        self._relay = relay  # passes on what others have; closed with this server
        self._calls_back = calls_back  # of governors; they get the connections that these make
        self._machine = machine  # readers on this machine may get paths
        self._limits = limits
        self._keys = keys  # for peers that were not admitted before
        self.links = HostLinks()
        self._lock = threading.Lock()
        self._open: dict[Connected, threading.Thread] = {}
        self._calling: set[threading.Thread] = set()  # have no connection yet
        self._queue: deque[tuple[Connected, bool]] = deque()
        self._closed = False

    @property
    def open_streams(self) -> int:
        return len(self._open)

    def take(self, connected: Connected, *, admitted: bool = False) -> None:
        """Takes over a new connection; `admitted` if its handshake is already done."""
        with self._lock:
            if self._closed:
                connected.close()
            elif len(self._open) >= self._limits.threads:
                self._queue.append((connected, admitted))
            else:
                self._start(connected, admitted)

    def close(self) -> None:
        """Ends all streams; the threads end soon after."""
        with self._lock:
            self._closed = True
            for connected, _ in self._queue:
                connected.close()
            self._queue.clear()
            for connected in self._open:
                sockets.hang_up(connected)
        if self._relay is not None:
            self._relay.close()

    def join(self) -> None:
        """Waits until all threads have ended."""
        with self._lock:
            threads = [*self._open.values(), *self._calling]
        for thread in threads:
            thread.join()

    def call_back(
        self, connect: Callable[[], Connected], incarnation: GovernorId, ticket: bytes
    ) -> None:
        """Makes a connection in a thread, shows the ticket there, and serves its other end."""
        call = StreamRequest(Ask.CALLED, ObjectId(0), incarnation, key=ticket)
        thread = threading.Thread(
            target=self._call, args=(connect, call), name="rain-stream", daemon=True
        )
        with self._lock:
            has_place = len(self._open) + len(self._calling) < self._limits.threads
            if not self._closed and has_place and _starts(thread):
                self._calling.add(thread)

    def _call(self, connect: Callable[[], Connected], call: StreamRequest) -> None:
        connected = None
        try:
            connected = connect()
            sockets.send(connected, call.encode())
        except (UnreachableError, BrokenError) as error:
            log.warning("cannot connect back to the server: %s", error)
        with self._lock:
            self._calling.discard(threading.current_thread())
            if connected is None:
                return
            if self._closed:
                connected.close()
                return
            self._open[connected] = threading.current_thread()
        self._live(connected, admitted=True, called=True)

    def _start(self, connected: Connected, admitted: bool) -> bool:
        """Serves a connection in a thread; closes it, and gives False, if the system has none.

        The lock is held: so the thread is known before it can end.
        """
        thread = threading.Thread(
            target=self._live, args=(connected, admitted), name="rain-stream", daemon=True
        )
        if not _starts(thread):
            connected.close()
            return False
        self._open[connected] = thread
        return True

    def _live(self, connected: Connected, admitted: bool, called: bool = False) -> None:
        given_away = False
        try:
            given_away = self._serve(connected, admitted, called)
        except NotAdmittedError as error:
            log.warning("a reader was not admitted: %s", error)
        except (BrokenError, ProtocolError) as error:
            log.warning("a stream was closed: %s", error)
        except OSError as error:
            log.warning("a stream was closed: %s", error.strerror)
        finally:
            with self._lock:
                del self._open[connected]
                if not given_away:
                    connected.close()
                while self._queue and not self._start(*self._queue.popleft()):
                    pass  # it was closed: the next one may have more luck

    def _serve(self, connected: Connected, admitted: bool, called: bool) -> bool:
        """Answers requests; returns whether the connection now belongs to another thread."""
        sockets.prepare(connected, self._limits.stall)
        sockets.limit_waiting(connected, self._limits.first_word)
        if not admitted:
            assert not isinstance(connected, Encrypted)
            connected = accept_tls(connected, self._keys.identity, self._limits.first_word)
            admit(connected, self._keys.secret)
        if not called and sockets.receive(connected, len(HELLO)) != HELLO:
            raise ProtocolError("it does not begin like a stream")
        while asked := sockets.receive(connected, REQUEST_SIZE):
            sockets.limit_waiting(connected, self._limits.stall)
            request = StreamRequest.decode(asked)
            if request.ask is Ask.CALLED:
                self._give_away(connected, request)
                return True
            self._answer(connected, request)
            sockets.limit_waiting(connected, self._limits.first_word)
            # If others wait for a thread, this reader must connect again for its next request.
            if self._queue or sockets.is_idle(connected):
                return False
        return False

    def _give_away(self, connected: Connected, request: StreamRequest) -> None:
        """A governor has called back: the reader that waits for it asks on this connection."""
        if self._calls_back is None:
            raise ProtocolError("a stream calls back, and nobody here asks for that")
        self._calls_back.bring(request.key, connected)

    def _answer(self, connected: Connected, request: StreamRequest) -> None:
        if request.ask is Ask.WRITE:
            self._take_upload(connected, request)
            return
        if request.ask is Ask.RANGE:
            self._give_range(connected, request, Range.receive(connected))
            return
        if request.ask is Ask.ADOPT:
            self._adopt(connected, request)
            return
        if request.ask is Ask.LINKED:
            raise ProtocolError("a stream tells of a link that nobody has asked for")
        if request.ask is Ask.PARTS:
            shares = self._shares_with(request)
            give_parts(connected, request, self._holder, self._relay, self.links, shares=shares)
            return
        held = self._holder.find(request.object, request.holder)
        if request.ask is Ask.READ_ON and isinstance(held, InMemory | InFar | InFolder):
            sockets.send(connected, StreamAnswer(Say.CHANGED).encode())
            return
        self._give(connected, request, held)

    def _give(self, connected: Connected, request: StreamRequest, held: Held | None) -> None:
        match held:
            case None:
                sockets.send(connected, StreamAnswer(Say.NOT_HERE).encode())
            case InMemory(data):
                self._give_body(connected, request, OfMemory(data))
            case InFar(size, pieces):
                sockets.send(connected, StreamAnswer(Say.BYTES, size).encode())
                for piece in pieces():
                    sockets.send(connected, piece)
            case InFile():
                try:
                    self._give_file(connected, request, held)
                finally:
                    held.close()
            case InFolder():
                self._give_folder(connected, request, held)
            case Elsewhere(sources):
                self._pass_on(connected, request, sources)

    def _give_range(self, connected: Connected, request: StreamRequest, wanted: Range) -> None:
        held = self._holder.find(request.object, request.holder)
        links = self.links if request.blocks else None
        match held:
            case None:
                sockets.send(connected, StreamAnswer(Say.NOT_HERE).encode())
            case Elsewhere(sources):
                self._pass_on(connected, request, sources, wanted.encode())
            case InFar() if held.files is not None or not wanted.path:
                give_far_range(connected, held, wanted)
            case InFar():
                whole = held.whole()
                try:
                    give_range(connected, whole, wanted, links)
                finally:
                    whole.close()
            case InFile():
                try:
                    give_range(connected, held, wanted, links)
                finally:
                    held.close()
            case _:
                give_range(connected, held, wanted, links)

    def _shares_with(self, request: StreamRequest) -> bool:
        may = request.ask in {Ask.READ, Ask.PARTS}  # the key of others is no machine
        return may and request.key == self._machine != NOBODY

    def _give_body(
        self, connected: Connected, request: StreamRequest, body: Body, text: str = ""
    ) -> None:
        link = self.links.for_body(connected, body.length, blocks=request.blocks)
        answer = StreamAnswer(Say.BYTES, body.length, text)
        sending = answer_with(connected, answer, body, link)
        if sending is not None and link is not None and sending.packed:
            what = "%s was sent compressed: %d bytes as %d, over a link of %d bytes/s"
            log.info(what, spell(request.object), body.length, sending.sent, link.rate or 0)

    def _give_file(self, connected: Connected, request: StreamRequest, held: InFile) -> None:
        length, place = held.place()
        if self._shares_with(request):
            sockets.send(connected, StreamAnswer(Say.SHARED, length, place.spell()).encode())
            return
        stamp = Stamp.of(held.descriptor)
        start = request.length if request.ask is Ask.READ_ON else 0
        if start > length or (start and Stamp.decode(request.key) != stamp):
            sockets.send(connected, StreamAnswer(Say.CHANGED).encode())
            return
        body = OfFile(held.descriptor, start, length - start)
        self._give_body(connected, request, body, stamp.spell())

    def _give_folder(self, connected: Connected, request: StreamRequest, held: InFolder) -> None:
        try:
            archive = Archive.of(held.path)
            place = held.place()
        except (OSError, ChangedError):  # removed meanwhile
            sockets.send(connected, StreamAnswer(Say.NOT_HERE).encode())
            return
        if self._shares_with(request):
            sockets.send(
                connected, StreamAnswer(Say.SHARED, archive.length, place.spell()).encode()
            )
            return
        self._give_body(connected, request, archive.body())

    def _pass_on(
        self,
        connected: Connected,
        request: StreamRequest,
        sources: tuple[str, ...],
        behind: bytes = b"",
    ) -> None:
        if self._relay is None or not self._relay.pass_on(connected, request, behind, sources):
            sockets.send(connected, StreamAnswer(Say.NOT_HERE).encode())

    def _take_upload(self, connected: Connected, request: StreamRequest) -> None:
        try:
            draft = self._holder.begin_upload(request.key, request.object, request.length)
        except RefusedError as error:
            sockets.send(connected, StreamAnswer(Say.REFUSED, text=str(error)).encode())
            return
        try:
            sockets.send(connected, StreamAnswer(Say.READY, blocks=request.blocks).encode())
            body = Unpacking(connected, request.length) if request.blocks else connected
            sockets.receive_file(body, draft.descriptor, request.length)
        except BaseException:
            draft.abandon()
            raise
        draft.complete()
        sockets.send(connected, StreamAnswer(Say.DONE).encode())

    def _adopt(self, connected: Connected, request: StreamRequest) -> None:
        """Takes the file of a client of this machine; one that cannot link to it sends it."""
        try:
            draft = self._holder.begin_adoption(request.key, request.object, request.length)
        except RefusedError as error:
            sockets.send(connected, StreamAnswer(Say.REFUSED, text=str(error)).encode())
            return
        try:
            sockets.send(connected, StreamAnswer(Say.LINK, text=str(draft.begun)).encode())
            asked = sockets.receive(connected, REQUEST_SIZE)
            after = StreamRequest.decode(asked) if asked else None
            if after is not None and after.ask is Ask.LINKED:
                draft.complete()
                sockets.send(connected, StreamAnswer(Say.DONE).encode())
                return
        except BaseException:
            draft.abandon()
            raise
        draft.abandon()
        if after is not None:
            self._answer(connected, after)


def _starts(thread: threading.Thread) -> bool:
    """Starts a thread; False if the system has none left, which must not end the program."""
    try:
        thread.start()
    except RuntimeError as error:
        if not is_shortage(error):
            raise
        log.warning("a stream cannot be served: %s", error)
        return False
    return True
