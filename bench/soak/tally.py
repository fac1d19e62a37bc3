"""What a soak has found: read from what its clients print, and told as a table."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable

from attrs import Factory, define


@define
class Tally:
    """The work of all clients."""

    done: Counter[str] = Factory(Counter)  # jobs with the right answer, by kind
    bad: list[str] = Factory(list)  # jobs with a wrong answer, or none
    cut: int = 0  # jobs whose client was killed

    def add(self, lines: Iterable[str], *, is_over: bool = True) -> None:
        """Adds the lines of one client and those before it in its place.

        The job that is begun at the end was lost if the soak is over and nobody has ended it.
        """
        begun = ""
        for line in lines:
            try:
                said = json.loads(line)
            except ValueError:  # the client was killed while it wrote this
                continue
            if "lives" in said:  # the one before has ended
                self.cut += bool(begun)
                begun = ""
            elif "begun" in said:
                self.cut += bool(begun)
                begun = f"{said['begun']}, seed {said['seed']}"
            elif "done" in said:
                self.done[said["done"]] += 1
                begun = ""
            elif "failed" in said or "wrong" in said:
                self.bad.append(f"{begun}: {said['why']}")
                begun = ""
        if begun and is_over:
            self.bad.append(f"{begun}: it has not ended")


def rows(thrown: Counter[str], tally: Tally) -> list[tuple[str, int]]:
    """The table: what was thrown, and what became of the work."""
    return [
        *sorted(thrown.items()),
        *((f"right: {kind}", count) for kind, count in sorted(tally.done.items())),
        ("jobs of killed clients", tally.cut),
        ("wrong or lost", len(tally.bad)),
    ]
