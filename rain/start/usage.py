"""The use of a cluster by its users: the tables of `rain usage` and `rain queue`."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from attrs import asdict, evolve

from rain.base.usage import DAY
from rain.base.users import OWNER_IN_TABLES
from rain.base.wire.requests import UsageOf
from rain.base.wire.usage import SessionUsage, UsageReport, UserUsage
from rain.start.reaching import ReachedServer, asking

"""How the owner of a cluster is called in tables."""

LAST_DAY = 2**31
"""Later than all days."""

_USAGE = ("user", "since", "tasks", "cpu_seconds", "bytes", "byte_seconds")
_OF_SESSIONS = (
    "user",
    "session",
    "name",
    "tasks",
    "cpu_seconds",
    "bytes",
    "stored",
    "byte_seconds",
)

GB_HOUR = 3600e9
"""The byte-seconds that people count by."""


def ask_usage(reached: ReachedServer) -> UsageReport:
    """The answer of the server to this user."""
    with asking(reached.address, reached.keys) as connection:
        return connection.ask(UsageOf())


def parse_day(text: str) -> int:
    """The number of the day 2026-11-27; ValueError if it is none."""
    try:
        return int(datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).timestamp() // DAY)
    except ValueError:
        raise ValueError(f"{text!r} is not a date: write it as 2026-11-27") from None


def select(
    days: Iterable[UserUsage], user: str = "", since: int = 0, until: int = LAST_DAY
) -> list[UserUsage]:
    """Those of a user, or of all, and of the days from one to another, both included."""
    return [
        one
        for one in days
        if since <= one.day <= until and user in ("", one.user or OWNER_IN_TABLES)
    ]


def by_user(days: Iterable[UserUsage]) -> list[UserUsage]:
    """The sums of each user; `day` is the first one with any."""
    sums: dict[str, UserUsage] = {}
    for one in days:
        known = sums.get(one.user)
        sums[one.user] = (
            one
            if known is None
            else evolve(
                known,
                day=min(known.day, one.day),
                tasks=known.tasks + one.tasks,
                cpu_seconds=known.cpu_seconds + one.cpu_seconds,
                bytes=known.bytes + one.bytes,
                byte_seconds=known.byte_seconds + one.byte_seconds,
            )
        )
    return sorted(sums.values(), key=_most_first)


def _most_first(one: UserUsage) -> tuple[float, str]:
    return -one.cpu_seconds, one.user


def waiting(sessions: Iterable[SessionUsage]) -> list[SessionUsage]:
    """The sessions that have unfinished tasks."""
    return [one for one in sessions if one.waiting or one.running]


def usage_as_json(rows: Sequence[UserUsage]) -> str:
    return _as_json(_USAGE, map(_usage_row, rows))


def usage_as_csv(rows: Sequence[UserUsage]) -> str:
    return _as_csv(_USAGE, map(_usage_row, rows))


def sessions_as_json(rows: Sequence[SessionUsage]) -> str:
    return _as_json(_OF_SESSIONS, map(_session_row, rows))


def sessions_as_csv(rows: Sequence[SessionUsage]) -> str:
    return _as_csv(_OF_SESSIONS, map(_session_row, rows))


def _as_json(names: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    return json.dumps([dict(zip(names, row, strict=True)) for row in rows], indent=2)


def _as_csv(names: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)
    return text.getvalue().rstrip("\n")


def usage_as_text(rows: Sequence[UserUsage]) -> str:
    if not rows:
        return "Nobody has used anything."
    table = [
        (user, since, tasks, f"{cpu:.1f}", made, f"{held / GB_HOUR:.3f}")
        for user, since, tasks, cpu, made, held in map(_usage_row, rows)
    ]
    head = ("USER", "SINCE", "TASKS", "CPU-SECONDS", "BYTES MADE", "GB-HOURS STORED")
    return _table([head, *table], texts=(0, 1))


def sessions_as_text(rows: Sequence[SessionUsage]) -> str:
    if not rows:
        return "There is no session."
    table = [
        (user, session, name, tasks, f"{cpu:.1f}", made, stored, f"{held / GB_HOUR:.3f}")
        for user, session, name, tasks, cpu, made, stored, held in map(_session_row, rows)
    ]
    head = (
        "USER",
        "SESSION",
        "NAME",
        "TASKS",
        "CPU-SECONDS",
        "BYTES MADE",
        "BYTES STORED",
        "GB-HOURS STORED",
    )
    return _table([head, *table], texts=(0, 2))


def _usage_row(one: UserUsage) -> tuple[str, str, int, float, int, float]:
    since = datetime.fromtimestamp(one.day * DAY, UTC).strftime("%Y-%m-%d")
    cpu, held = round(one.cpu_seconds, 3), round(one.byte_seconds, 3)
    return one.user or OWNER_IN_TABLES, since, one.tasks, cpu, one.bytes, held


def _session_row(one: SessionUsage) -> tuple[str, int, str, int, float, int, int, float]:
    cpu, held = round(one.cpu_seconds, 3), round(one.byte_seconds, 3)
    user = one.user or OWNER_IN_TABLES
    return user, one.session, one.name, one.tasks, cpu, one.bytes, one.stored, held


def queue_as_json(rows: Sequence[SessionUsage]) -> str:
    return json.dumps([asdict(one) for one in rows], indent=2)


def queue_as_text(rows: Sequence[SessionUsage]) -> str:
    if not rows:
        return "No session has tasks that wait or run."
    head = ("USER", "SESSION", "NAME", "WAITING", "RUNNING", "FINISHED", "SECONDS LEFT", "WHY")
    table = [
        (
            one.user or OWNER_IN_TABLES,
            one.session,
            one.name,
            one.waiting,
            one.running,
            one.tasks,
            "?" if one.seconds_left < 0 else f"{one.seconds_left:.1f}",
            one.why,
        )
        for one in rows
    ]
    return _table([head, *table], texts=(0, 2, 7))


def _table(rows: Sequence[Sequence[object]], texts: Sequence[int]) -> str:
    """Left-aligns columns of text, and right-aligns columns of numbers."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if place in texts else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    )
