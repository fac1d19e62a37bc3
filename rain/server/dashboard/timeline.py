"""Where and when tasks ran: single bars while they are few, else the number at a time."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rain.server.dashboard.digest import MILLISECOND, Digest, LoggedState

MOST_BARS = 1500
MOST_GOVERNORS = 60
BUCKETS = 200


def timeline(
    digest: Digest, now: float, since: float | None, until: float | None
) -> dict[str, Any]:
    """The governors with their tasks between two moments; the busiest first if many."""
    columns = digest.columns
    mark = columns.marks()
    started = columns.starts()
    ran = np.flatnonzero(
        (mark >= LoggedState.RUNNING) & (mark < LoggedState.SKIPPED) & (started > 0)
    )
    starts = started[ran]
    is_running = mark[ran] == LoggedState.RUNNING
    last = digest.closed or now
    durations = columns.durations()[ran]
    ends = np.where(is_running, np.maximum(last, starts), starts + durations)
    first = since if since is not None else float(starts.min()) if len(ran) else last
    end = until if until is not None else (float(ends.max()) if len(ran) else last)
    seen = (starts < end) & (ends > first) if since is not None or until is not None else starts > 0
    ran, starts, ends = ran[seen], starts[seen], ends[seen]
    where = columns.governors()[ran]
    busy = np.bincount(where, ends - starts) if len(ran) else np.zeros(0)
    order = [
        int(each) for each in np.argsort(-busy, kind="stable") if busy[each] > 0 or each in where
    ]
    shown = sorted(order[:MOST_GOVERNORS], key=lambda each: digest.governors.texts[each])
    single = len(ran) <= MOST_BARS
    governors: list[dict[str, Any]] = []
    for governor in shown:
        mine = where == governor
        entry: dict[str, Any] = {
            "governor": digest.governors.texts[governor],
            "tasks": int(mine.sum()),
            "seconds": round(float(busy[governor]), 3),
        }
        if single:
            entry |= _bars(digest, ran[mine], starts[mine], ends[mine])
        else:
            entry["busy"] = _busy(starts[mine], ends[mine], first, end)
        governors.append(entry)
    return {
        "since": first,
        "until": max(end, first + MILLISECOND),
        "single": single,
        "tasks": len(ran),
        "governors": governors,
        "hidden_governors": len(order) - len(shown),
        "groups": digest.groups.texts,
    }


def _bars(
    digest: Digest,
    places: NDArray[np.intp],
    starts: NDArray[np.float64],
    ends: NDArray[np.float64],
) -> dict[str, Any]:
    """One bar per task: lane, start, end, number, group, mark. Bars of a lane do not overlap."""
    bars: list[tuple[int, float, float, int, int, int]] = []
    free: list[int] = []
    taken: list[tuple[float, int]] = []  # when each lane becomes free
    lanes = 0
    for entry in np.argsort(starts, kind="stable"):
        start, end, place = float(starts[entry]), float(ends[entry]), int(places[entry])
        # Times are whole milliseconds: an end in the same millisecond as a start is before it.
        while taken and taken[0][0] <= start + MILLISECOND:
            heapq.heappush(free, heapq.heappop(taken)[1])
        if free:
            lane = heapq.heappop(free)
        else:
            lane, lanes = lanes, lanes + 1
        heapq.heappush(taken, (end, lane))
        columns = digest.columns
        bars.append(
            (
                lane,
                round(start, 3),
                round(end, 3),
                columns.number(place),
                columns.group[place],
                columns.mark[place],
            )
        )
    return {"lanes": lanes, "bars": bars}


def _busy(
    starts: NDArray[np.float64], ends: NDArray[np.float64], first: float, end: float
) -> list[float]:
    """The mean number of running tasks in each of the equal time slices."""
    edges = np.linspace(first, max(end, first + MILLISECOND), BUCKETS + 1)
    work = _work_until(starts, edges) - _work_until(ends, edges)
    return [round(float(each), 2) for each in np.diff(work) / np.diff(edges)]


def _work_until(moments: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each edge, the sum of the times from all earlier moments to the edge."""
    moments = np.sort(moments)
    sums = np.concatenate([[0.0], np.cumsum(moments - edges[0])])
    before = np.searchsorted(moments, edges)
    work: NDArray[np.float64] = before * (edges - edges[0]) - sums[before]
    return work
