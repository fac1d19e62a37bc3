"""How a connection has ended: one value, which is set once and stays."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from attrs import frozen

NOT_HERE = (
    "the client belongs to the process that this one was forked from: make a Client in each process"
)


class How(Enum):
    """Who has ended a connection, or what."""

    CLOSED = "this side has closed it"
    EXITED = "the program ends"
    FORKED = "it belongs to the parent of this process"
    BROKEN = "an error of ours has ended its thread, which has printed it"
    GIVEN_UP = "this side knows that the other one is lost"
    NOT_BACK = "the server was away, and there will be no other connection"
    SILENT = "nothing was received for too long"
    INVALID = "the other side has sent what breaks the protocol"
    FAREWELL = "the other side has said why it ends the connection"
    LOST = "the connection has broken"


@frozen
class End:
    """The end of a connection."""

    how: How
    cause: str  # in a few words
    silence: float = 0.0  # seconds of it that were the cause

    def message(self, where: str, why_lost: Callable[[], str] = str) -> str:
        """What callers of a client are told. The owner of the server is asked why it was lost only
        if that is not known here: it may wait for the end of a process.
        """
        match self.how:
            case How.FORKED | How.NOT_BACK:
                return self.cause
            case How.CLOSED | How.EXITED:
                return (
                    f"the connection to the server at {where} was closed by this program: read"
                    " results before `close()`, or the end of the `with`"
                )
            case How.BROKEN:
                return (
                    f"the connection to the server at {where} was closed by an error of the client"
                    " itself, which the program has printed"
                )
            case How.SILENT:
                return (
                    f"the server at {where} has been silent for {self.silence:.0f} seconds: it"
                    " hangs, or the link to it is cut"
                )
            case _ if known := why_lost():
                return known
            case How.INVALID:
                return (
                    f"the connection to the server at {where} was closed, because it has sent an"
                    f" invalid message: {self.cause}"
                )
            case _:
                reason = f": {self.cause}" if self.how is How.FAREWELL else ""
                return f"the server at {where} closed the connection{reason}"
