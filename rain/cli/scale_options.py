"""The options --min, --max and --idle, with which the number of governors follows the work."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from rain.base.durations import parse_duration
from rain.cli.options import parsed

if TYPE_CHECKING:
    from rain.start.options import StartRequest

_OPTIONS = (
    click.option(
        "--max",
        "most",
        type=click.IntRange(min=1),
        metavar="N",
        help="Start governors when tasks wait for them, up to this number, and end those that have"
        " nothing to do.",
    ),
    click.option(
        "--min",
        "least",
        type=click.IntRange(min=0),
        metavar="N",
        help="With --max: how many governors stay without any work.  [default: 0]",
    ),
    click.option(
        "--idle",
        callback=parsed(parse_duration),
        metavar="TIME",
        help="With --max: how long a governor may have no task before it is ended: 60s or 5m."
        "  [default: 60s]",
    ),
    click.option(
        "--largest",
        type=click.IntRange(1, 64),
        metavar="TIMES",
        help="With --max: a job may ask for up to TIMES times the cpus, memory and gpus if few"
        " large jobs start sooner than many small ones.  [default: 1]",
    ),
    click.option(
        "--kind",
        metavar="NAME",
        help="With --max: the name of these governors, if the cluster has several kinds of them."
        "  [default: the name of the launcher]",
    ),
)


def scale_options(run: Callable[..., StartRequest]) -> Callable[..., StartRequest]:
    """Adds these options to a command, which gets what they say as `scale`.

    Its `governors`, if it has them, are 0 if there is a scale, and else as many as were asked for.
    """

    @wraps(run)
    def command(
        most: int | None,
        least: int | None,
        idle: int | None,
        largest: int | None,
        kind: str | None,
        **own: Any,
    ) -> StartRequest:
        from rain.start.governors import read_scale

        try:
            scale = read_scale(own.get("governors"), most, least, idle, largest, kind)
        except ValueError as error:
            raise click.UsageError(str(error)) from None
        if "governors" in own:
            own["governors"] = own["governors"] or 0
        return run(scale=scale, **own)

    for option in reversed(_OPTIONS):
        command = option(command)
    return command
