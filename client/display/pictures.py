"""The pictures of clients and sessions in notebooks: a few lines that any theme can show.

They have no colours of their own, so that dark themes stay dark, and nothing that must be loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from html import escape

from rain.base.address import seen_by_peer
from rain.base.errors import RainError
from rain.base.wire.answers import Overview

_BOX = "border-left:3px solid #888;padding:2px 10px;line-height:1.5;display:inline-block"


def asked(ask: Callable[[], Overview]) -> Overview | None:
    """The overview of the server, or None if it does not answer: a picture raises no exception."""
    try:
        return ask()
    except RainError:
        return None


def client_picture(
    address: str,
    overview: Overview | None,
    *,
    owns: bool,
    closed: bool,
    encrypted: bool = False,
) -> str:
    """A client: where its server is, the cluster, and the tasks of all clients."""
    if closed:
        return _box("Client", address, ["closed"])
    if overview is None:
        return _box("Client", address, ["the server does not answer"])
    cluster = f"{counted(overview.governors, 'governor')}, {counted(overview.cpus, 'cpu')}"
    lines = [f"a cluster of its own: {cluster}" if owns else cluster, _of_tasks(overview)]
    where = escape(dashboard(overview.http, address, encrypted=encrypted))
    if where:
        lines.append(f'dashboard <a href="{where}" target="_blank" rel="noopener">{where}</a>')
    elif owns:
        lines.append("dashboard <code>client.dashboard_url</code>")
    return _box("Client", address, lines)


def session_picture(name: str, pending: int, overview: Overview | None, *, closed: bool) -> str:
    """A session: its tasks, and those that are not submitted yet."""
    lines: list[str] = []
    if closed:
        lines.append("closed")
    elif overview is not None:
        lines.append(_of_tasks(overview))
    else:
        lines.append("the server does not answer")
    if pending and not closed:
        lines.append(f"{counted(pending, 'task')} not submitted yet")
    return _box("Session", name, lines)


def dashboard(http: str, address: str, *, encrypted: bool = False) -> str:
    """The URL of a dashboard, without its password; as the client reaches the server."""
    if not http:
        return ""
    scheme = "https" if encrypted else "http"
    return f"{scheme}://{seen_by_peer(http, address)}/"


def counted(count: int, noun: str) -> str:
    """A number and its noun: "1 task", "2,000 tasks"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _of_tasks(overview: Overview) -> str:
    if not overview.tasks:
        return "no tasks yet"
    states = [
        (overview.running, "running"),
        (overview.waiting, "waiting"),
        (overview.finished, "finished"),
    ]
    said = ", ".join(f"{count:,} {word}" for count, word in states)
    return f"{counted(overview.tasks, 'task')}: {said}"


def _box(what: str, name: str, lines: Iterable[str]) -> str:
    head = f"<b>{what}</b> <code>{escape(name)}</code>" if name else f"<b>{what}</b>"
    return f'<div style="{_BOX}">{"<br>".join([head, *lines])}</div>'
