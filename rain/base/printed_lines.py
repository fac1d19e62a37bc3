"""A bounded buffer for the lines that tasks print while somebody watches."""

from __future__ import annotations

from attrs import Factory, define

from rain.base.ids import TaskId
from rain.base.wire.printed import PrintedLines

NO_TASK = TaskId(0)
"""Stands for the tasks of lines that are left out."""


@define(eq=False)
class LineBuffer:
    """Lines in their order, at most `most` characters; of what comes then only the size is kept."""

    most: int
    lines: list[PrintedLines] = Factory(list)
    size: int = 0
    left_out: int = 0  # bytes, about

    def add(self, lines: PrintedLines) -> None:
        """Some more lines of a task."""
        if self.size + len(lines.text) > self.most:
            self.left_out += len(lines.text) + lines.left_out
            return
        self.size += len(lines.text)
        self.lines.append(lines)

    def take(self) -> list[PrintedLines]:
        """All that wait; what is left out comes last."""
        taken = self.lines
        if self.left_out:
            taken.append(PrintedLines(NO_TASK, left_out=self.left_out))
        self.lines, self.size, self.left_out = [], 0, 0
        return taken

    def __bool__(self) -> bool:
        return bool(self.lines or self.left_out)
