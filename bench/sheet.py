"""A table of measurements: for the terminal, or as Markdown for docs/performance.md."""

from attrs import frozen
from rich.table import Table


@frozen
class Sheet:
    """A table whose cells are texts."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""
    words: int = 1  # the number of left-aligned columns with words; the others have figures

    def table(self) -> Table:
        table = Table(title=self.title, caption=self.caption or None, caption_justify="left")
        for number, column in enumerate(self.columns):
            table.add_column(
                column, justify="left" if number < self.words else "right", no_wrap=number == 0
            )
        for row in self.rows:
            table.add_row(*row)
        return table

    def markdown(self) -> str:
        """The table and its caption as Markdown."""
        rule = ["---" if i < self.words else "---:" for i in range(len(self.columns))]
        lines = [_line(self.columns), "|" + "|".join(rule) + "|", *map(_line, self.rows)]
        if self.caption:
            lines += ["", self.caption]
        return "\n".join(lines)


def _line(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
