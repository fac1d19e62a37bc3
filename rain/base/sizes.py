"""Sizes in bytes as text: `4G`, `512MiB`, `1.5 GB`, `100000`.

A bare letter and the units with an `i` count by 1024, the units that end in a plain `B` by 1000.
"""

import re

_WRITTEN = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgtp]?)(ib|b)?", re.IGNORECASE | re.ASCII)
_POWERS = {letter: power for power, letter in enumerate(("", "k", "m", "g", "t", "p"))}


def parse_size(text: str) -> int:
    """Parses a size; raises a one-line ValueError if it is not valid."""
    found = _WRITTEN.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r} is not a size; write for instance 4G, 512MiB or 100000")
    number, letter, unit = found[1], found[2].lower(), (found[3] or "").lower()
    if unit == "ib" and not letter:
        raise ValueError(f"{text!r} is not a size; write for instance 4G, 512MiB or 100000")
    base = 1000 if unit == "b" else 1024
    from decimal import Decimal  # noqa: PLC0415 # all programs load this module, few parse

    amount = Decimal(number) * base ** _POWERS[letter]
    if amount != int(amount):
        raise ValueError(f"{text!r} is not a whole number of bytes")
    return int(amount)


def spell_size(size: int) -> str:
    """Formats a number of bytes with the largest fitting unit and at most four digits."""
    for letter in ("P", "T", "G", "M", "K"):
        unit = 1024 ** _POWERS[letter.lower()]
        if size >= unit:
            return f"{size / unit:.4g}{letter}iB"
    return f"{size}B"
