"""Ids of tasks, data objects, kinds, sessions and peers.

For users, the id of a task or a data object is a pair: the session and a number inside it.
On the wire and inside the server the pair is one 64-bit integer, because a message has tens of
thousands of them: an integer is packed once and needs no object.
Tasks, data objects and kinds of one session share one number space; the client counts.
"""

from typing import NamedTuple, NewType

TaskId = NewType("TaskId", int)
ObjectId = NewType("ObjectId", int)
KindId = NewType("KindId", int)
SessionId = NewType("SessionId", int)

# Peers. A governor's id is its incarnation, a random number drawn at the start of its process, so a
# restarted governor at the same address is a different peer. The server numbers the clients.
GovernorId = NewType("GovernorId", int)
ClientId = NewType("ClientId", int)
# Identifies one call of a client that waits for an answer; unique forever.
RequestId = NewType("RequestId", int)

NO_SESSION = SessionId(0)
"""No session has this id."""

FIRST_SHARED = 1 << 31
"""The owner of a session uses smaller numbers; clients that join get ranges from here on."""

LAST_SHARED = (1 << 32) - (1 << 24)
"""Numbers from here on belong to the owner again: for kinds, counted down."""

FIRST_OF_SERVER = LAST_SHARED - (1 << 24)
"""Numbers from here up to `LAST_SHARED` are those of shadows, which the server adds by itself."""

SHARED_RANGE = 1 << 14
"""The size of the range that a joining client gets."""

FIRST_NUMBER = 10
"""The first number that a client uses in a session; smaller ones are reserved."""

NUMBER_BITS = 32
NUMBER_MASK = (1 << NUMBER_BITS) - 1
LARGEST_SESSION = (1 << 31) - 1


class ID(NamedTuple):
    """The pair that users see; it equals the plain tuple."""

    session_id: int
    id: int

    def __repr__(self) -> str:
        return f"{self.session_id}/{self.id}"


def pack(session_id: int, number: int) -> int:
    """Packs the pair into one integer."""
    if not 0 < session_id <= LARGEST_SESSION or not 0 <= number <= NUMBER_MASK:
        raise ValueError(f"the id {session_id}/{number} is out of range")
    return session_id << NUMBER_BITS | number


def unpack(packed: int) -> ID:
    """Unpacks an integer into the pair."""
    return ID(packed >> NUMBER_BITS, packed & NUMBER_MASK)


def session_of(packed: int) -> SessionId:
    """The session of a packed id."""
    return SessionId(packed >> NUMBER_BITS)


def is_of_server(packed: int) -> bool:
    """Whether the server has added this task or object by itself: a shadow, or what one makes."""
    return FIRST_OF_SERVER <= packed & NUMBER_MASK < LAST_SHARED


def spell(packed: int) -> str:
    """A packed id as readable text, "session/number"."""
    return f"{packed >> NUMBER_BITS}/{packed & NUMBER_MASK}"
