"""What the event log keeps, and what goes first when it is too old or too much; pure.

Sessions that are over go whole, the one that has been over for longest first, and between them what
belongs to no session (monitoring, governors, clients) by its age. When nothing else is left and the
file is still too large, the oldest events of open sessions go. What is never deleted is the
beginning of an open session, and the newest session, from which numbers go on.
"""

from __future__ import annotations

import enum

from attrs import frozen

DEFAULT_BYTES = 10 * 1024**3


@frozen
class Keep:
    """How much is kept; None for all."""

    seconds: float | None = None
    bytes: int | None = DEFAULT_BYTES


ALL_BUT_TOO_MUCH = Keep()


@frozen
class Facts:
    """What the log has, as far as it matters here. Times are in seconds, None for nothing."""

    used: int  # bytes
    session_over: float | None  # since when the session is over that has been over for longest
    loose: float | None  # the oldest event that belongs to no session


class Going(enum.Enum):
    """What goes next."""

    SESSION = "session"
    LOOSE = "loose"
    ANY = "any"  # the oldest events, whatever they are


@frozen
class Next:
    """What goes next; of what belongs to no session only what is older than `before`."""

    what: Going
    before: float = float("inf")


def next_to_go(keep: Keep, facts: Facts, now: float) -> Next | None:
    """What is to be deleted next, a slice at a time; None when everything may stay."""
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
