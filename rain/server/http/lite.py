"""A simple page with governors and sessions that reloads every two seconds, without scripts."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from rain.base.resources import spell_amount
from rain.server.http.status import GovernorStatus, SessionStatus, Status

_LINE = 200  # characters of a failure that are shown

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="refresh" content="2">
<title>Rain server</title>
<style>
body {{ font-family: sans-serif; margin: 2em; }}
table {{ border-collapse: collapse; margin-bottom: 2em; }}
th, td {{ text-align: left; padding: 0.3em 1em; border-bottom: 1px solid #ccc; }}
</style>
</head>
<body>
<h1>Rain server {version}</h1>
<p>{clients} clients, {tasks} tasks and {objects} data objects</p>
<h2>Governors</h2>
{governors}
<h2>Sessions</h2>
{sessions}
</body>
</html>
"""


def lite_page(status: Status) -> str:
    """Makes the page for a status."""
    return _PAGE.format(
        version=escape(status["version"]),
        clients=status["clients"],
        tasks=status["tasks"],
        objects=status["objects"],
        governors=_table(
            ("governor", "cpus", "other resources", "tasks assigned", "tasks queued", "objects"),
            [_governor(governor) for governor in status["governors"]],
        ),
        sessions=_table(
            ("session", "name", "client", "tasks", "unfinished", "objects", "failure", "held up"),
            [_session(session) for session in status["sessions"]],
        ),
    )


def _governor(governor: GovernorStatus) -> tuple[object, ...]:
    resources = governor["resources"]
    others = [
        f"{name} {spell_amount(name, amount)}"
        for name, amount in resources.items()
        if name != "cpus"
    ]
    return (
        governor["governor"],
        resources["cpus"],
        ", ".join(others),
        governor["assigned"],
        governor["queued"],
        governor["objects"],
    )


def _session(session: SessionStatus) -> tuple[object, ...]:
    return (
        session["session"],
        session["name"],
        session["client"],
        session["tasks"],
        session["unfinished"],
        session["objects"],
        session["failure"][:_LINE],
        session["held_up"][:_LINE],
    )


def _table(titles: Sequence[str], rows: Sequence[tuple[object, ...]]) -> str:
    head = "".join([f"<th>{escape(title)}</th>" for title in titles])
    body = [
        "<tr>" + "".join([f"<td>{escape(str(cell))}</td>" for cell in row]) + "</tr>"
        for row in rows
    ]
    return "\n".join(["<table>", f"<tr>{head}</tr>", *body, "</table>"])
