"""What became of the work of a round: read from what clients print, and told as a table."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence

from attrs import Factory, define

CONNECTING = "connecting"


@define
class Outcome:
    """One fault on one system."""

    fault: str
    system: str
    thrown: int = 0
    begun: int = 0
    right: int = 0
    wrong: list[str] = Factory(list)
    errors: Counter[str] = Factory(Counter)  # by their first line
    hung: int = 0
    unconnected: int = 0  # clients that could not begin
    renewed: int = 0  # clusters that were made anew

    def add(self, lines: Iterable[str]) -> None:
        """Adds what the clients of a round have printed."""
        begun = ""  # what has no end yet
        for line in lines:
            try:
                said = json.loads(line)
            except ValueError:  # the client was killed while it wrote this
                continue
            if "connecting" in said:
                self._leave(begun)
                begun = CONNECTING
            elif "begun" in said:
                self.begun += 1
                begun = said["begun"]
            elif "ended" in said:
                begun = ""
            else:
                self._end(said, begun)
                begun = ""
        self._leave(begun)

    def _end(self, said: dict[str, object], begun: str) -> None:
        """Adds how some work has ended."""
        if "done" in said:
            self.right += 1
        elif "failed" in said:
            self.errors[str(said["why"]).partition("\n")[0]] += 1
        elif "wrong" in said:
            self.wrong.append(f"{said['wrong']}, seed {said['seed']}: {said['why']}")
        elif "hung" in said and begun == CONNECTING:
            self.unconnected += 1
        elif "hung" in said:
            self.hung += bool(begun)

    def _leave(self, begun: str) -> None:
        """Adds a client that has gone without a word."""
        if begun == CONNECTING:
            self.unconnected += 1
        elif begun:
            self.errors["the program ended with the cluster"] += 1


HEADS = (
    *("fault", "system", "faults thrown", "works begun", "right", "errors", "hung", "wrong"),
    *("clients that could not connect", "clusters made anew"),
)


def table(outcomes: Sequence[Outcome]) -> str:
    """The outcomes in Markdown."""
    rows = [f"| {' | '.join(HEADS)} |", "|---|---|" + "---:|" * (len(HEADS) - 2)]
    for one in outcomes:
        numbers = (one.thrown, one.begun, one.right, one.errors.total(), one.hung, len(one.wrong))
        cells = (one.fault, one.system, *numbers, one.unconnected, one.renewed)
        rows.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(rows)


def details(outcomes: Sequence[Outcome]) -> list[str]:
    """Each error and each wrong answer."""
    return [
        f"{one.system}, {one.fault}: {text}"
        for one in outcomes
        for text in (*(f"{count} x {why}" for why, count in one.errors.items()), *one.wrong)
    ]
