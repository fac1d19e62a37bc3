"""The failure to make a software environment."""

from __future__ import annotations


class NotMadeError(Exception):
    """An environment cannot be made; says why. `short` if it could be made elsewhere or later."""

    def __init__(self, reason: str, *, short: bool = False) -> None:
        super().__init__(reason)
        self.short = short
