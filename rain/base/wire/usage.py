"""Reports about the users of a cluster, and about the sessions that wait for cpus."""

from __future__ import annotations

from attrs import frozen


@frozen
class UserUsage:
    """What one user has used on one day."""

    user: str  # "" is the owner of the cluster
    day: int  # of UTC, counted from 1970
    tasks: int
    cpu_seconds: float
    bytes: int  # of all that they have made
    byte_seconds: float = 0.0  # of what was stored for the user, by tasks or by clients


@frozen
class SessionUsage:
    """An open session: what is left of it, and what it has used. What tasks open counts with it."""

    user: str
    session: int
    name: str
    waiting: int  # unfinished tasks that do not run
    running: int
    tasks: int  # that have finished
    cpu_seconds: float
    bytes: int
    seconds_left: float  # of all that wait, if they take as long as others; below 0: unknown
    why: str  # what holds them up
    stored: int = 0  # bytes of its objects now, each counted once
    byte_seconds: float = 0.0


@frozen
class UsageReport:
    """All that the client's user may see."""

    days: tuple[UserUsage, ...]
    sessions: tuple[SessionUsage, ...]
