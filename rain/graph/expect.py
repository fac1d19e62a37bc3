"""How the consistency checker notes what does not hold.

A sentence is put together only when it is needed: the checker asks many times a node, and nearly
all of it holds.
"""

from __future__ import annotations


class Expect:
    """Collects what does not hold, each with its subject."""

    def __init__(self, subject: object, found: list[str]) -> None:
        self.subject = subject
        self.found = found

    def __call__(self, holds: bool, what: str, *told: object) -> None:
        """Notes the sentence, with `told` in its braces, if this does not hold."""
        if not holds:
            self.found.append(f"  {self.subject!r}: {what.format(*told)}")
