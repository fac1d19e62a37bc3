"""Drawings of task graphs: the text of Graphviz, or an SVG of our own that needs no program."""

import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from attrs import define, field, frozen

from rain.client.data import DataObject
from rain.client.display.pictures import counted
from rain.client.task import Task
from rain.common.data_type import DataType
from rain.common.errors import RainException
from rain.common.utils import short_str

MOST_SHOWN = 400
"""Nodes of a graph that notebooks show by themselves."""


@frozen
class Node:
    """A circle (a task) or a box (a data object)."""

    name: str
    label: str
    shape: str = "box"
    color: str = "white"


@frozen
class Arc:
    """An arrow between two nodes, by their names."""

    start: str
    end: str
    label: str = ""


def _no_nodes() -> dict[str, Node]:
    return {}


def _no_arcs() -> list[Arc]:
    return []


@define(repr=False)
class Graph:
    """Nodes and arcs, in the order in which they were added."""

    nodes: dict[str, Node] = field(factory=_no_nodes)
    arcs: list[Arc] = field(factory=_no_arcs)

    def add(self, node: Node) -> None:
        self.nodes[node.name] = node

    def connect(self, start: str, end: str, label: str = "") -> None:
        self.arcs.append(Arc(start, end, label))

    def make_dot(self) -> str:
        """The graph in Graphviz's language."""
        lines = ["digraph G {", "  node [style=filled];"]
        lines += [
            f"  {_quoted(node.name)} [label={_quoted(node.label)} shape={node.shape}"
            f" fillcolor={_quoted(node.color)}];"
            for node in self.nodes.values()
        ]
        for arc in self.arcs:
            label = f" [label={_quoted(arc.label)}]" if arc.label else ""
            lines.append(f"  {_quoted(arc.start)} -> {_quoted(arc.end)}{label};")
        return "\n".join([*lines, "}", ""])

    def make_svg(self) -> str:
        """The graph as an SVG picture: each node stands below all that it needs."""
        places = _places(self.nodes, self.arcs)
        width = max((x for x, _ in places.values()), default=0) + _STEP_X
        height = max((y for _, y in places.values()), default=0) + _STEP_Y
        size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        parts = [f'<svg xmlns="http://www.w3.org/2000/svg" {size} {_FONT}>', _ARROW_HEAD]
        parts += [_drawn_arc(arc, places) for arc in self.arcs]
        parts += [_drawn_node(node, *places[node.name]) for node in self.nodes.values()]
        return "\n".join([*parts, "</svg>", ""])

    def write(self, filename: str | Path) -> None:
        """Writes the picture (for a name that ends in .svg) or Graphviz's text."""
        target = Path(filename)
        text = self.make_svg() if target.suffix == ".svg" else self.make_dot()
        target.write_text(text, encoding="utf-8")

    def show(self) -> None:
        """Opens the graph in the program xdot, and returns when it is closed."""
        with tempfile.TemporaryDirectory(prefix="rain-graph-") as folder:
            target = Path(folder) / "graph.dot"
            self.write(target)
            try:
                subprocess.run(["xdot", str(target)], check=False)
            except FileNotFoundError:
                raise RainException(
                    "The program xdot is not installed; use write('graph.svg') instead"
                ) from None

    def __repr__(self) -> str:
        return f"<Graph of {self._spelled()}>"

    def _spelled(self) -> str:
        tasks = sum(node.shape == "oval" for node in self.nodes.values())
        objects = len(self.nodes) - tasks
        return f"{counted(tasks, 'task')}, {counted(objects, 'object')}"

    def _repr_html_(self) -> str:
        """The picture of it in notebooks."""
        if len(self.nodes) > MOST_SHOWN:
            return f"<b>Graph</b> of {self._spelled()}; <code>write('graph.svg')</code> draws it"
        return f'<div style="overflow:auto">{self.make_svg()}</div>'


def graph_of(tasks: Iterable[Task], objects: Iterable[DataObject], show_ids: bool) -> Graph:
    """Tasks as circles, data objects as boxes; kept ones are coloured."""
    graph = Graph()

    def add_object(obj: DataObject) -> str:
        name = f"o{obj.packed_id}"
        if name not in graph.nodes:
            ending = "/" if obj.data_type is DataType.DIRECTORY else ""
            lines = [obj.label + ending if obj.label else ending, str(obj.id) if show_ids else ""]
            color = "lightblue" if obj.kept else "white"
            graph.add(Node(name, "\n".join(filter(None, lines)), "box", color))
        return name

    for obj in objects:
        add_object(obj)
    for task in tasks:
        name = f"t{task.packed_id}"
        lines = [task.name or task.task_type, str(task.id) if show_ids else ""]
        graph.add(Node(name, "\n".join(filter(None, lines)), "oval", "lightyellow"))
        for label, obj in task.inputs.items():
            graph.connect(add_object(obj), name, str(label or ""))
        for obj in task.output_objects:
            graph.connect(name, add_object(obj))
    return graph


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


_FONT = 'font-family="sans-serif" font-size="11" text-anchor="middle"'
_LINES = "#888"  # can be seen on white and on black
_ON_NODES = "#111"
_ARROW_HEAD = (
    '<defs><marker id="head" markerWidth="8" markerHeight="8" refX="7" refY="3" orient="auto">'
    f'<path d="M0,0 L8,3 L0,6 z" fill="{_LINES}"/></marker></defs>'
)
_STEP_X = 130
_STEP_Y = 80
_HALF_X = 55
_HALF_Y = 18


def _places(nodes: Iterable[str], arcs: Sequence[Arc]) -> dict[str, tuple[int, int]]:
    """The middle of each node. A node's row is the length of the longest way to it."""
    rows: dict[str, int] = dict.fromkeys(nodes, 0)
    # A graph without cycles is settled after as many rounds as it has rows; others stop here too.
    for _ in range(len(rows)):
        moved = False
        for arc in arcs:
            if rows[arc.end] <= rows[arc.start] < len(rows):
                rows[arc.end] = rows[arc.start] + 1
                moved = True
        if not moved:
            break
    filled: dict[int, int] = {}
    places: dict[str, tuple[int, int]] = {}
    for name, row in rows.items():
        column = filled.get(row, 0)
        filled[row] = column + 1
        places[name] = (column * _STEP_X + _STEP_X // 2, row * _STEP_Y + _STEP_Y // 2)
    return places


def _drawn_arc(arc: Arc, places: dict[str, tuple[int, int]]) -> str:
    (x1, y1), (x2, y2) = places[arc.start], places[arc.end]
    line = (
        f'<line x1="{x1}" y1="{y1 + _HALF_Y}" x2="{x2}" y2="{y2 - _HALF_Y}" stroke="{_LINES}"'
        ' marker-end="url(#head)"/>'
    )
    if not arc.label:
        return line
    place = f'x="{(x1 + x2) // 2}" y="{(y1 + y2) // 2}"'
    return f'{line}<text {place} fill="{_LINES}">{escape(arc.label)}</text>'


def _drawn_node(node: Node, x: int, y: int) -> str:
    paint = f'fill="{node.color}" stroke="{_LINES}"'
    if node.shape == "oval":
        body = f'<ellipse cx="{x}" cy="{y}" rx="{_HALF_X}" ry="{_HALF_Y}" {paint}/>'
    else:
        body = (
            f'<rect x="{x - _HALF_X}" y="{y - _HALF_Y}" width="{2 * _HALF_X}"'
            f' height="{2 * _HALF_Y}" {paint}/>'
        )
    lines = [escape(short_str(line, 18)) for line in node.label.split("\n")]
    first = y + 4 - 7 * (len(lines) - 1)
    texts = [
        f'<text x="{x}" y="{first + 14 * i}" fill="{_ON_NODES}">{line}</text>'
        for i, line in enumerate(lines)
    ]
    return "".join([body, *texts])
