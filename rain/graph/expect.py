"""Collects the contradictions that the consistency checker finds.

A sentence is formatted only if its condition does not hold, because the checker tests many
conditions for each node.
"""

from __future__ import annotations


class Expect:
    """Collects the conditions that do not hold, each with its subject."""

    def __init__(self, subject: object, found: list[str]) -> None:
        self.subject = subject
        self.found = found

    def __call__(self, holds: bool, what: str, *values: object) -> None:
        """Notes the sentence, formatted with `values`, if the condition does not hold."""
        if not holds:
            self.found.append(f"  {self.subject!r}: {what.format(*values)}")
