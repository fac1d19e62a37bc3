"""The codec of live output: what tasks print, and which tasks and sessions a client watches."""

from collections.abc import Sequence

from attrs import frozen

from rain.base.errors import ProtocolError
from rain.base.ids import SessionId, TaskId
from rain.base.wire.printed import PrintedLines, Watch
from rain.rpc.codec.border import LOGS_LIMIT, clean, shown
from rain.rpc.interface import Fields


@frozen
class Watched:
    """A watch of a client, or of this number at a governor; None when it is over."""

    watch: Watch | None
    number: int = 0


@frozen
class WatchLines:
    """Lines for the watch of this number."""

    number: int
    lines: Sequence[PrintedLines]


def write_watched(watched: Watched) -> Fields:
    """For a governor."""
    return {"number": watched.number, **write_watch(watched.watch)}


def read_watched(fields: Fields) -> Watched:
    return Watched(read_watch(fields), fields["number"])


def write_watch(watch: Watch | None) -> Fields:
    """For the server."""
    if watch is None:
        return {"over": True}
    return {"watch": {"sessions": sorted(watch.sessions), "tasks": sorted(watch.tasks)}}


def read_watch(fields: Fields) -> Watch | None:
    if fields["over"]:
        return None
    watch: Fields = fields["watch"] or {"sessions": (), "tasks": ()}
    return Watch(
        frozenset(map(SessionId, watch["sessions"])), frozenset(map(TaskId, watch["tasks"]))
    )


def write_watch_lines(watched: WatchLines) -> Fields:
    """For the server."""
    return {"number": watched.number, **write_lines(watched.lines)}


def read_watch_lines(fields: Fields) -> WatchLines:
    return WatchLines(fields["number"], read_lines(fields))


def write_lines(lines: Sequence[PrintedLines]) -> Fields:
    """For a client."""
    return {"lines": [_write(one) for one in lines]}


def read_lines(fields: Fields) -> list[PrintedLines]:
    return [_read(row) for row in fields["lines"]]


def _write(lines: PrintedLines) -> Fields:
    return {
        "task": lines.task,
        "name": clean(lines.name),
        "errors": lines.errors,
        "text": shown(lines.text, LOGS_LIMIT),
        "leftOut": lines.left_out,
        "governor": lines.governor,
    }


def _read(row: Fields) -> PrintedLines:
    left_out: int = row["leftOut"]
    if left_out < 0:
        raise ProtocolError(f"printed lines: {left_out} bytes cannot be left out")
    return PrintedLines(
        row["task"], row["name"], row["errors"], row["text"], left_out, row["governor"]
    )
