"""Draws SVG with rectangles, lines and texts only. No I/O: the result is a text."""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

from attrs import Factory, define

# Distinguishable by colour-blind people and in print.
COLOURS = (
    "#4477aa",
    "#ee6677",
    "#228833",
    "#ccbb44",
    "#66ccee",
    "#aa3377",
    "#ee9944",
    "#667788",
    "#99bb55",
    "#7755bb",
)
INK = "#222222"
FAINT = "#dddddd"
FONT = 12
LETTER = 6.7
"""The approximate width of a letter."""


@define
class Drawing:
    """A drawing that grows downwards; `height` is the height used so far."""

    width: int
    height: float = 0.0
    _parts: list[str] = Factory(list)

    def rectangle(
        self, x: float, y: float, width: float, height: float, colour: str, hint: str = ""
    ) -> None:
        """Draws a filled rectangle with a tooltip."""
        title = f"<title>{escape(hint)}</title>" if hint else ""
        self._parts.append(
            f'<rect x="{x:.2f}" y="{y:.2f}" width="{max(width, 0.3):.2f}" height="{height:.2f}"'
            f' fill="{colour}">{title}</rect>'
        )
        self._reaches(y + height)

    def line(self, x: float, y: float, to_x: float, to_y: float, colour: str = FAINT) -> None:
        """Draws a thin line."""
        self._parts.append(
            f'<line x1="{x:.2f}" y1="{y:.2f}" x2="{to_x:.2f}" y2="{to_y:.2f}" stroke="{colour}"/>'
        )
        self._reaches(max(y, to_y))

    def text(
        self, x: float, y: float, words: str, *, anchor: str = "start", bold: bool = False
    ) -> None:
        """Draws a line of text on the base line `y`."""
        weight = ' font-weight="bold"' if bold else ""
        self._parts.append(
            f'<text x="{x:.2f}" y="{y:.2f}" text-anchor="{anchor}"{weight}>{escape(words)}</text>'
        )
        self._reaches(y + FONT / 2)

    def legend(self, x: float, y: float, names: dict[str, str]) -> float:
        """Draws a legend of the colours in as many rows as needed; returns its lower end."""
        at = x
        for name, colour in names.items():
            room = 26 + LETTER * len(name)
            if at > x and at + room > self.width:
                at, y = x, y + FONT + 6
            self.rectangle(at, y - FONT + 2, FONT, FONT, colour)
            self.text(at + FONT + 4, y, name)
            at += room
        return y + FONT

    def _reaches(self, y: float) -> None:
        self.height = max(self.height, y)

    def finish(self, title: str) -> str:
        """Returns the whole file."""
        height = round(self.height + FONT)
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{height}"'
            f' viewBox="0 0 {self.width} {height}" font-family="sans-serif"'
            f' font-size="{FONT}" fill="{INK}" role="img" aria-label={quoteattr(title)}>'
        )
        ground = f'<rect width="{self.width}" height="{height}" fill="white"/>'
        return "\n".join([head, ground, *self._parts, "</svg>\n"])


def colours_of(names: list[str]) -> dict[str, str]:
    """Assigns a colour to each name; colours repeat if there are too few."""
    return {name: COLOURS[number % len(COLOURS)] for number, name in enumerate(names)}


def ticks(end: float, at_most: int = 10) -> list[float]:
    """Round numbers from 0 to the end, for an axis."""
    if end <= 0:
        return [0.0]
    step = 1e-9
    while end / step > at_most:
        for factor in (2.0, 2.5, 2.0):  # 1, 2, 5, 10
            step *= factor
            if end / step <= at_most:
                break
    return [round(number * step, 9) for number in range(int(end / step + 1e-9) + 1)]
