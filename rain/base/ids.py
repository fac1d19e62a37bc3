"""Ids of tasks, data objects, kinds, sessions and peers.

Users know a task or a data object as a pair: the session and a number inside it.
On the wire and inside the server the pair is one 64-bit whole number, because a message carries
tens of thousands of them: a number is packed once and needs no object of its own.
Tasks, data objects and kinds of one session share one number space; the client counts.
"""

from typing import NamedTuple, NewType

TaskId = NewType("TaskId", int)
ObjectId = NewType("ObjectId", int)
KindId = NewType("KindId", int)
SessionId = NewType("SessionId", int)

# Peers. A governor's id is the incarnation that it drew at random when its process started, so a
# restarted governor at the same address is somebody else. A client's id is counted by the server.
GovernorId = NewType("GovernorId", int)
ClientId = NewType("ClientId", int)
# Names one call of one client that waits for an answer; counted by the border, unique for ever.
RequestId = NewType("RequestId", int)

FIRST_SHARED = 1 << 31
"""The owner of a session counts below, those who join it get ranges from here on."""

LAST_SHARED = (1 << 32) - (1 << 24)
"""The numbers from here on are the owner's again: for kinds, counted down."""

SHARED_RANGE = 1 << 14
"""How many numbers one who joins gets at a time."""

FIRST_NUMBER = 10
"""The first number that a client gives out in a session; the smaller ones are reserved."""

NUMBER_BITS = 32
NUMBER_MASK = (1 << NUMBER_BITS) - 1
LARGEST_SESSION = (1 << 31) - 1


class ID(NamedTuple):
    """The pair as users see it; it equals the plain tuple."""

    session_id: int
    id: int

    def __repr__(self) -> str:
        return f"{self.session_id}/{self.id}"


def pack(session_id: int, number: int) -> int:
    """One whole number for the pair."""
    if not 0 < session_id <= LARGEST_SESSION or not 0 <= number <= NUMBER_MASK:
        raise ValueError(f"the id {session_id}/{number} is out of range")
    return session_id << NUMBER_BITS | number


def unpack(packed: int) -> ID:
    """The pair that a whole number stands for."""
    return ID(packed >> NUMBER_BITS, packed & NUMBER_MASK)


def session_of(packed: int) -> SessionId:
    """The session of a packed id."""
    return SessionId(packed >> NUMBER_BITS)


def spell(packed: int) -> str:
    """A packed id as people read it, "session/number"."""
    return f"{packed >> NUMBER_BITS}/{packed & NUMBER_MASK}"
