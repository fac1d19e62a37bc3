"""Three processes that pass a message on, as those of a call do, and do nothing else.

The message goes from a client through a server with its governor to an executor, and back: four
messages, each of which wakes a process. The process in the middle is a program of trio, and a
thread of the client receives. What this takes is what no code of ours can save.
"""

import multiprocessing
import socket
from collections.abc import Generator
from contextlib import contextmanager
from queue import SimpleQueue
from threading import Thread

import trio
from attrs import frozen

MESSAGE = bytes(400)
"""About as long as those of a call."""

READ_SIZE = 64 * 1024

BOTH = "server and governor"
"""The process of an embedded cluster."""


@frozen
class Relay:
    """The client's end, and the other processes by their roles."""

    others: list[tuple[str, int]]
    _to_server: socket.socket
    _answers: "SimpleQueue[bytes]"

    def call(self, number: int) -> int:
        """Sends one message around, and gives what a call of `inc` would give."""
        self._to_server.send(MESSAGE)
        self._answers.get()
        return number + 1


@contextmanager
def relay() -> Generator[Relay, None, None]:
    """Starts the processes; they end when the client's socket is closed."""
    context = multiprocessing.get_context("spawn")
    client, to_client = socket.socketpair()
    to_executor, executor = socket.socketpair()
    started = [
        (BOTH, context.Process(target=_pass_both_ways, args=(to_client, to_executor))),
        ("executor", context.Process(target=_echo, args=(executor,))),
    ]
    for _, process in started:
        process.start()
    for passed in (to_client, to_executor, executor):
        passed.close()
    answers: SimpleQueue[bytes] = SimpleQueue()
    receiver = Thread(target=_receive, args=(client, answers))
    receiver.start()
    try:
        yield Relay([(role, process.pid or 0) for role, process in started], client, answers)
    finally:
        client.shutdown(socket.SHUT_RDWR)
        receiver.join()
        client.close()
        for _, process in started:
            process.join()


def _receive(connected: socket.socket, answers: "SimpleQueue[bytes]") -> None:
    while message := connected.recv(READ_SIZE):
        answers.put(message)


def _pass_both_ways(one: socket.socket, other: socket.socket) -> None:
    trio.run(_pass_until_the_end, one, other)


async def _pass_until_the_end(one: socket.socket, other: socket.socket) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_pass_on, one, other, nursery.cancel_scope)
        nursery.start_soon(_pass_on, other, one, nursery.cancel_scope)


async def _pass_on(here: socket.socket, there: socket.socket, ends: trio.CancelScope) -> None:
    while True:
        await trio.lowlevel.wait_readable(here)
        message = here.recv(READ_SIZE)
        if not message:
            ends.cancel()
            return
        there.send(message)


def _echo(connected: socket.socket) -> None:
    while message := connected.recv(READ_SIZE):
        connected.send(message)
