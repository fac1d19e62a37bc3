"""Who uses a cluster: the tables of `rain usage` and `rain queue`."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from attrs import asdict, evolve

from rain.base.address import split_address
from rain.base.errors import ConnectionLostError, RefusedError, StartError
from rain.base.usage import DAY
from rain.base.wire.requests import UsageOf
from rain.base.wire.usage import SessionUsage, UsageReport, UserUsage
from rain.rpc.client_endpoint import ClientConnection
from rain.start.reaching import Reached

OWNER = "(owner)"
"""How the owner of a cluster is called in tables."""

_USAGE = ("user", "since", "tasks", "cpu_seconds", "bytes")


def ask_usage(reached: Reached) -> UsageReport:
    """What the server tells this user."""
    host, port = split_address(reached.address)
    try:
        connection = ClientConnection(
            host, port, secret=reached.secret, away_limit=0, identity=reached.identity
        )
        try:
            return connection.ask(UsageOf())
        finally:
            connection.close()
    except (ConnectionLostError, RefusedError) as error:
        raise StartError(f"the server at {reached.address}: {error}") from error


def parse_day(text: str) -> int:
    """The number of the day 2026-11-27; ValueError if it is none."""
    try:
        return int(datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).timestamp() // DAY)
    except ValueError:
        raise ValueError(f"{text!r} is no day: write it as 2026-11-27") from None


def by_user(days: Iterable[UserUsage], user: str = "", since: int = 0) -> list[UserUsage]:
    """The sums of each user from a day on; `day` is the first one with any."""
    sums: dict[str, UserUsage] = {}
    for one in days:
        if one.day < since or (user and user != (one.user or OWNER)):
            continue
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
            )
        )
    return sorted(sums.values(), key=_most_first)


def _most_first(one: UserUsage) -> tuple[float, str]:
    return -one.cpu_seconds, one.user


def waiting(sessions: Iterable[SessionUsage]) -> list[SessionUsage]:
    """Those that have something to do."""
    return [one for one in sessions if one.waiting or one.running]


def usage_as_json(rows: Sequence[UserUsage]) -> str:
    return json.dumps([dict(zip(_USAGE, _usage_row(one), strict=True)) for one in rows], indent=2)


def usage_as_csv(rows: Sequence[UserUsage]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_USAGE)
    writer.writerows(map(_usage_row, rows))
    return text.getvalue().rstrip("\n")


def usage_as_text(rows: Sequence[UserUsage]) -> str:
    if not rows:
        return "Nobody has finished a task."
    table = [
        (user, since, tasks, f"{cpu:.1f}", made)
        for user, since, tasks, cpu, made in map(_usage_row, rows)
    ]
    return _table([("USER", "SINCE", "TASKS", "CPU-SECONDS", "BYTES MADE"), *table], texts=(0, 1))


def _usage_row(one: UserUsage) -> tuple[str, str, int, float, int]:
    since = datetime.fromtimestamp(one.day * DAY, UTC).strftime("%Y-%m-%d")
    return one.user or OWNER, since, one.tasks, round(one.cpu_seconds, 3), one.bytes


def queue_as_json(rows: Sequence[SessionUsage]) -> str:
    return json.dumps([asdict(one) for one in rows], indent=2)


def queue_as_text(rows: Sequence[SessionUsage]) -> str:
    if not rows:
        return "No session has tasks that wait or run."
    head = ("USER", "SESSION", "NAME", "WAITING", "RUNNING", "FINISHED", "SECONDS LEFT", "WHY")
    table = [
        (
            one.user or OWNER,
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
    """Columns of texts begin, and those of numbers end, in the same place."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if place in texts else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    )
