"""What a client asks in plain messages: it leaves in its order, and each answer finds who waits.

Threads that ask build their messages themselves, send them, and wait for a `Box`. Only a
submission of several messages, or with large constants that are uploaded before it, is sent by the
thread of the connection, and so is what comes while it is on its way.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence

from rain.base.errors import ConnectionLostError, RainError
from rain.rpc.background import NOT_HERE, Background, bare
from rain.rpc.codec.requests import Abandon, write_request
from rain.rpc.codec.responses import Answer, read_answer
from rain.rpc.connection import Connection

Put = Callable[[Answer | Exception], object]
"""Takes an answer, or why there is none, in the thread of the connection."""


Prepare = Callable[[], Awaitable[bool]]
"""What comes before a request; False if that was refused."""


class Box:
    """Where a thread waits for one answer."""

    def __init__(self) -> None:
        self._empty = threading.Lock()
        self._empty.acquire()
        self._content: list[Answer | Exception] = []  # none yet, or one
        self._heir: Put | None = None

    def put(self, content: Answer | Exception) -> None:
        self._content.append(content)
        self._empty.release()
        if self._heir is not None:
            self._pass_on(self._heir)

    def leave_to(self, heir: Put) -> None:
        """Nobody waits here any more: the answer goes there, even if it has come already."""
        self._heir = heir
        self._pass_on(heir)

    def _pass_on(self, heir: Put) -> None:
        try:
            content = self._content.pop()  # a single step, so that two threads pass it on once
        except IndexError:  # it has not come, or is there already
            return
        heir(content)

    def take(self, timeout: float | None = None) -> Answer:
        """The answer, when it has come; TimeoutError after so many seconds. Raises refusals."""
        limit = -1 if timeout is None else min(max(timeout, 0), threading.TIMEOUT_MAX)
        if not self._empty.acquire(timeout=limit):
            raise TimeoutError
        (content,) = self._content
        if isinstance(content, Exception):
            raise content
        return content


class Requests:
    """The requests of one connection that are not answered yet.

    A request usually leaves at once, from the thread that asks. It goes through the loop when it
    has to wait there, and then all that follow do, so that none overtakes another.
    """

    def __init__(
        self, connection: Connection, lost: Callable[[], ConnectionLostError], thread: Background
    ) -> None:
        self._connection = connection
        self._lost = lost
        self._thread = thread
        self._open: dict[int, Put] = {}
        # Given up, but what was asked may have been refused before: until somebody who has asked
        # later is answered.
        self._given_up: dict[int, Put] = {}
        self._gate = asyncio.Lock()  # held while a submission is being sent
        self._counting = threading.Lock()
        self._indirect = 0  # how many requests are on their way through the loop
        self._sending: set[asyncio.Task[None]] = set()  # the loop alone would not keep them alive
        self._over = False
        self.is_silent = False  # the program ends: who waits now waits for that
        connection.hear(read_answer, self._heard)
        connection.tell_end(self._ended)

    @property
    def open_count(self) -> int:
        """How many requests may still be answered."""
        return len(self._open)

    def is_open(self, number: int) -> bool:
        """Whether this request may still be answered."""
        return number in self._open

    # From the thread that asks.

    def ask(
        self, number: int, messages: Sequence[bytes], put: Put, *, may_lapse: bool = False
    ) -> None:
        """Sends a request, which may be cut into several messages.

        One that may lapse is not sent any more when it is given up before that.
        Raises `ConnectionLostError` if it cannot, and otherwise gives the answer to `put`.
        """
        if not self._thread.is_usable:
            raise ConnectionLostError(NOT_HERE)
        if self._indirect or len(messages) > 1:
            self.ask_after(number, messages, put, _nothing, may_lapse=may_lapse)
            return
        self._open[number] = put
        # If it ended before it was known that somebody waits, nobody else tells him.
        if self._over and self._open.pop(number, None) is not None:
            raise self._lost()
        self._connection.say_now(messages[0])

    def tell(self, number: int, message: bytes, *, behind: bool = False) -> None:
        """Sends a request that has no answer. Raises `ConnectionLostError` if it cannot.

        It may go `behind` what was given up before.
        """
        if not self._thread.is_usable:
            raise ConnectionLostError(NOT_HERE)
        if self._over:
            raise self._lost()
        if self._indirect or behind:
            self._soon(number, [message], _nothing, may_lapse=False)
        else:
            self._connection.say_now(message)

    def ask_after(
        self,
        number: int,
        messages: Sequence[bytes],
        put: Put,
        prepare: Prepare,
        *,
        may_lapse: bool = False,
    ) -> None:
        """Sends a request after what it needs; if that is refused, the last message says so."""
        self._open[number] = put
        if self._over and self._open.pop(number, None) is not None:
            raise self._lost()
        self._soon(number, messages, prepare, may_lapse=may_lapse)

    def _soon(
        self, number: int, messages: Sequence[bytes], prepare: Prepare, *, may_lapse: bool
    ) -> None:
        with self._counting:
            self._indirect += 1
        if not self._thread.soon(self._start, number, messages, prepare, may_lapse):
            raise ConnectionLostError(NOT_HERE)

    def refuse_more(self) -> None:
        """The connection is about to end: whoever asks from now on is told so at once."""
        self._over = True

    def give_up(self, number: int) -> None:
        """Nobody waits for this answer any more."""
        self._thread.soon(self._forget, number)

    def give_up_waiting(self, number: int) -> None:
        """The same, but an answer that is on its way already finds who has asked."""
        self._thread.soon(self._forget, number, True)

    # In the loop.

    async def passed(self) -> None:
        """Returns when all submissions before are sent, for calls that must not overtake them."""
        async with self._gate:
            pass

    def _start(
        self, number: int, messages: Sequence[bytes], prepare: Prepare, may_lapse: bool
    ) -> None:
        sending = self._send(number, messages, prepare, may_lapse)
        task = asyncio.get_running_loop().create_task(sending)
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _send(
        self, number: int, messages: Sequence[bytes], prepare: Prepare, may_lapse: bool
    ) -> None:
        try:
            async with self._gate:
                prepared = await prepare()
                if self._over or (may_lapse and number not in self._open):
                    return
                for message in messages if prepared else messages[-1:]:
                    self._connection.say(message)
        except RainError as error:
            put = self._open.pop(number, None)
            if put is not None:
                put(bare(error))
        finally:
            with self._counting:
                self._indirect -= 1

    def _forget(self, number: int, may_be_refused: bool = False) -> None:
        put = self._open.pop(number, None)
        if put is not None:
            if may_be_refused:
                self._given_up[number] = put
            self._connection.say(write_request(number, Abandon()))

    def _heard(self, said: tuple[int, Answer | Exception]) -> None:
        number, answer = said
        put = self._open.pop(number, None)
        if self._given_up:
            put = put or self._given_up.get(number)
            self._given_up = {late: heir for late, heir in self._given_up.items() if late > number}
        if put is not None:
            put(answer)

    def _ended(self, cause: str) -> None:  # the same for every cause
        self._over = True
        while self._open:
            _, put = self._open.popitem()
            if not self.is_silent:
                put(self._lost())


async def _nothing() -> bool:
    return True
