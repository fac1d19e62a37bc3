"""The commands `rain usage` and `rain queue`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rain.base.errors import StartError
from rain.cli.options import json_option, server_options

if TYPE_CHECKING:
    from rain.start.reaching import ReachedServer


@click.command()
@click.option("--user", metavar="NAME", default="", help="This user only; '(owner)' is the owner.")
@click.option(
    "--since", metavar="DAY", default="", help="From this day (UTC) on, for example 2026-11-27."
)
@click.option("--until", metavar="DAY", default="", help="Until this day (UTC), with it.")
@click.option("--days", is_flag=True, help="Print a line for each day.")
@click.option("--sessions", is_flag=True, help="Print a line for each session that is open.")
@click.option("--csv", "as_csv", is_flag=True, help="Print comma-separated values.")
@server_options()
@json_option
def usage(
    server: ReachedServer,
    user: str,
    since: str,
    until: str,
    days: bool,
    sessions: bool,
    as_csv: bool,
    as_json: bool,
) -> int:
    """Show how much of a cluster each user has used.

    It counts the cpu time of finished tasks, and stored bytes for as long as they were stored.
    Users see only their own line.
    """
    from rain.base.users import OWNER_IN_TABLES
    from rain.start import usage as told

    if as_csv and as_json:
        raise StartError("either --csv or --json")
    if sessions and (since or until or days):
        raise StartError("--sessions has no days: leave --since, --until and --days out")
    first = _day("--since", since) if since else 0
    last = _day("--until", until) if until else told.LAST_DAY
    report = told.ask_usage(server)
    if sessions:
        of_sessions = [one for one in report.sessions if user in ("", one.user or OWNER_IN_TABLES)]
        of_session = (
            told.sessions_as_csv
            if as_csv
            else told.sessions_as_json
            if as_json
            else told.sessions_as_text
        )
        click.echo(of_session(of_sessions))
        return 0
    rows = told.select(report.days, user, first, last)
    spell = told.usage_as_csv if as_csv else told.usage_as_json if as_json else told.usage_as_text
    click.echo(spell(rows if days else told.by_user(rows)))
    return 0


def _day(option: str, text: str) -> int:
    from rain.start.usage import parse_day

    try:
        return parse_day(text)
    except ValueError as error:
        raise StartError(f"{option}: {error}") from None


@click.command()
@server_options()
@json_option
def queue(server: ReachedServer, as_json: bool) -> int:
    """Show sessions with unfinished tasks, and what holds them up.

    Users see their own sessions; the owner and admins see all. SECONDS LEFT is an estimate for all
    waiting tasks, one after the other, from the durations of finished ones.
    """
    from rain.start import usage as told

    rows = told.waiting(told.ask_usage(server).sessions)
    click.echo(told.queue_as_json(rows) if as_json else told.queue_as_text(rows))
    return 0
