"""Time limits of jobs as text: `1:00:00`, `90:00`, `2-12:00:00`, `90m`, `2h`, `3d`."""

from __future__ import annotations

import re
from itertools import pairwise

_CLOCK = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d{1,2}):(\d{2})", re.ASCII)
_SPAN = re.compile(r"(\d+)\s*([smhd])", re.ASCII | re.IGNORECASE)
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_SAID = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def parse_duration(text: str) -> int:
    """The seconds of a time limit; raises a one-line ValueError if it is not valid.

    A bare number is refused, since batch systems disagree whether it means minutes or seconds.
    """
    clock = _CLOCK.fullmatch(text.strip())
    if clock is not None:
        days, hours, minutes, seconds = (int(part or 0) for part in clock.groups())
        found = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    else:
        span = _SPAN.fullmatch(text.strip())
        if span is None:
            raise ValueError(f"{text!r} is not a time limit; write for instance 1:00:00, 90m or 2h")
        found = int(span[1]) * _UNITS[span[2].lower()]
    if found == 0:
        raise ValueError(f"{text!r} is not above 0")
    return found


def say_duration(seconds: float) -> str:
    """A time for people, in its largest two units: `2 d 3 h`, `2 h 30 min`, `90 s`."""
    whole = round(seconds)
    for (size, name), (part, smaller) in pairwise(_SAID):
        if whole >= 2 * size:
            count, rest = divmod(whole, size)
            return f"{count} {name} {rest // part} {smaller}" if rest >= part else f"{count} {name}"
    return f"{whole} s"


def spell_duration(seconds: int) -> str:
    """Hours, minutes and seconds, as all batch systems read them."""
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02}:{minutes:02}:{seconds:02}"
