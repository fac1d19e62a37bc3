"""A program that is interrupted again and again while it calls; its arguments say how."""

from __future__ import annotations

import signal
import sys

from tests.rpc.connected import Connected
from tests.rpc.peers import COUNTER


def signal_handler(connected: Connected) -> None:
    """A signal handler calls while the same thread does."""
    handled = 0

    def handle(*_: object) -> None:
        nonlocal handled
        handled += 1
        connected.caller.peer.call(
            connected.root, COUNTER.methods["add"], {"number": 1}, lambda _: None
        )

    before = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
    try:
        for _ in range(2000):
            connected.call("add", number=1)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert handled > 10
    assert connected.call("add", number=0) == {"sum": 2000 + handled}


class Interrupt(Exception):
    """What the signal handler of a test raises."""


def interruption(connected: Connected) -> None:
    """A signal handler raises between any two steps of a call."""

    def interrupt(*_: object) -> None:
        raise Interrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    interrupted = 0
    try:
        for number in range(400):
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.00001 + number % 40 * 0.00001)
                connected.caller.peer.call(
                    connected.root,
                    COUNTER.methods["fail"],
                    {"reason": "x" * 100_000},
                    lambda _: None,
                )
                signal.setitimer(signal.ITIMER_REAL, 0)
            except Interrupt:
                interrupted += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert interrupted
    assert connected.call("add", number=7) == {"sum": 7}


if __name__ == "__main__":
    one = Connected(encrypted=sys.argv[2] == "encrypted")
    try:
        {"signal_handler": signal_handler, "interruption": interruption}[sys.argv[1]](one)
    finally:
        one.close()
