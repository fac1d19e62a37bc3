"""Decides what the event log deletes first when it is too old or too large. No I/O.

Closed sessions are deleted as a whole, the one that ended first goes first; events of no session
(monitoring, governors, clients) are deleted by age together with them. If only open sessions are
left and the file is still too large, their oldest events are deleted. The start of an open session
and the newest session, from which the numbers continue, are never deleted.
"""

from __future__ import annotations

import enum
from math import inf

from attrs import frozen

DEFAULT_BYTES = 10 * 1024**3


@frozen
class Keep:
    """How much is kept; None for everything."""

    seconds: float | None = None
    bytes: int | None = DEFAULT_BYTES


ALL_BUT_TOO_MUCH = Keep()


@frozen
class Facts:
    """The relevant facts about the log. Times are in seconds; None if there is no such event."""

    used: int  # bytes
    session_over: float | None  # the earliest end of a closed session
    loose: float | None  # the oldest event of no session


class Going(enum.Enum):
    """The events to delete next."""

    SESSION = "session"
    LOOSE = "loose"
    ANY = "any"  # the oldest events of any type


@frozen
class Next:
    """The next deletion; of events without a session, only those older than `before`."""

    what: Going
    before: float = inf


def next_to_go(keep: Keep, facts: Facts, now: float) -> Next | None:
    """Returns what to delete next, a slice at a time; None if everything may stay."""
    session, loose = facts.session_over, facts.loose
    what, since = Going.ANY, now
    if session is not None and (loose is None or session <= loose):
        what, since = Going.SESSION, session
    elif loose is not None:
        what, since = Going.LOOSE, loose
    if keep.seconds is not None and since < now - keep.seconds:
        return Next(what, now - keep.seconds)
    if keep.bytes is not None and facts.used > keep.bytes:
        return Next(what) if session is None else Next(what, session)
    return None
