"""Spec 1.5: drawings of what was not submitted."""

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from rain.client import DataObject, RainException, Session, Task, blob, tasks
from rain.client import graph as graph_module


def test_tasks_and_objects_are_nodes_and_their_relations_are_arcs(session: Session) -> None:
    const = blob("x", "input")
    task = Task((("named", const),), ["result"], task_type="a/b", name="work")
    task.output.keep()

    graph = session.make_graph()

    assert [node.label for node in graph.nodes.values()] == [
        "input\n3/10",
        "result\n3/11",
        "work\n3/12",
    ]
    assert [(arc.start, arc.end, arc.label) for arc in graph.arcs] == [
        (f"o{const.packed_id}", f"t{task.packed_id}", "named"),
        (f"t{task.packed_id}", f"o{task.output.packed_id}", ""),
    ]
    assert graph.nodes[f"o{task.output.packed_id}"].color == "lightblue"


def test_the_text_for_graphviz_is_escaped_and_ids_can_be_left_out(session: Session) -> None:
    tasks.Concat([blob("x", 'a "quoted" \\ label')])

    dot = session.make_graph(show_ids=False).make_dot()

    assert dot.startswith("digraph G {")
    assert dot.endswith("}\n")
    assert 'label="a \\"quoted\\" \\\\ label"' in dot
    assert "3/10" not in dot
    assert dot.count("->") == 2


def test_the_picture_is_svg_with_everything_below_what_it_needs(session: Session) -> None:
    last = tasks.Concat([blob("x", "<in>")])
    for _ in range(3):
        last = tasks.Concat([last])

    graph = session.make_graph()
    picture = ET.fromstring(graph.make_svg())

    names = {"ellipse": 0, "rect": 0, "line": 0}
    for element in picture.iter():
        tag = element.tag.partition("}")[2]
        if tag in names:
            names[tag] += 1
    assert names == {"ellipse": 4, "rect": 5, "line": 8}
    for line in picture.iter("{http://www.w3.org/2000/svg}line"):
        assert float(line.get("y1", 0)) < float(line.get("y2", 0))


def test_a_cycle_does_not_hang_the_drawing(session: Session) -> None:
    obj = DataObject("loop")
    Task((obj,), [obj], task_type="a/b")

    assert "loop" in session.make_graph().make_svg()
    assert Session(None, 9).make_graph().make_svg().startswith("<svg")


def test_it_is_written_as_text_or_as_a_picture(session: Session, tmp_path: Path) -> None:
    tasks.Concat([])
    graph = session.make_graph()

    graph.write(str(tmp_path / "graph.dot"))
    graph.write(tmp_path / "graph.svg")

    assert (tmp_path / "graph.dot").read_text() == graph.make_dot()
    assert (tmp_path / "graph.svg").read_text() == graph.make_svg()


def test_a_missing_viewer_is_named(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")

    with pytest.raises(RainException, match="xdot"):
        graph_module.Graph().show()
