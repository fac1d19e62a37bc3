from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import attrs
import pytest

from rain.base.resources import Resources
from rain.lab.families import FAMILIES, make
from rain.lab.files import read_file
from rain.lab.format import FORMAT, read_graph, write_graph
from rain.lab.workload import Batch, Cluster, LabError, Workload

A = {"id": "a", "duration": 1, "outputs": [{"id": "x", "size": 10}]}
B = {"id": "b", "duration": 2, "inputs": ["x"]}


def graph(*tasks: dict[str, Any], **others: Any) -> dict[str, Any]:
    return {"format": FORMAT, "tasks": list(tasks), **others}


def plain(workload: Workload) -> Any:
    return (
        [attrs.asdict(task) for task in workload.tasks],
        [attrs.asdict(made) for made in workload.objects],
        workload.batches,
    )


def test_a_graph_is_read_with_all_that_can_be_said_of_it() -> None:
    values = graph(
        {
            "id": "first",
            "name": "make",
            "duration": 1.5,
            "expected": 2,
            "cpus": 2,
            "resources": {"gpus": 1, "memory": "1GiB"},
            "inputs": ["given"],
            "outputs": [{"id": "made", "size": 100, "expected": 90, "kept": True}],
        },
        {"id": "second", "duration": 1, "inputs": ["made"], "batch": 1},
        name="example",
        objects=[{"id": "given", "size": 5}],
        batches=[{}, {"delay": 3, "after": ["first"]}],
        cluster={
            "name": "ours",
            "governors": [{"count": 2, "cpus": 4}, {"cpus": 8, "resources": {"gpus": 2}}],
            "bandwidth": 1000,
            "latency": 0.01,
            "downloads": 3,
        },
    )
    # when
    found = read_graph(values, "file")
    # then
    workload = found.workload
    first, second = workload.tasks
    assert workload.name == "example"
    assert (first.name, first.duration, first.expected) == ("make", 1.5, 2)
    assert first.resources == Resources(2, (("gpus", 1), ("memory", 1024**3)))
    assert [workload.objects[i].name for i in first.inputs] == ["given"]
    made = workload.objects[first.outputs[0]]
    assert (made.size, made.expected, made.kept) == (100, 90, True)
    assert (second.name, second.batch) == ("second", 1)
    assert workload.batches == [Batch(), Batch(3, (0,))]
    eight = Resources(8, (("gpus", 2),))
    assert found.cluster == Cluster("ours", (Resources(4), Resources(4), eight), 1000, 0.01, 3)
    # and when it is written and read once more
    again = read_graph(json.loads(json.dumps(write_graph(workload, found.cluster))), "file")
    # then
    assert plain(again.workload) == plain(workload)
    assert again.cluster == found.cluster


@pytest.mark.parametrize("name", ["triplets", "fern", "size_stairs"])
def test_a_graph_of_the_lab_is_the_same_after_it_was_written_and_read(name: str) -> None:
    workload = make(name, 5)
    again = read_graph(json.loads(json.dumps(write_graph(workload))), name)
    assert plain(again.workload) == plain(workload)
    assert name in FAMILIES


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([], "this is a list, and should be a table"),
        ({}, "format: this is missing, and should be a text"),
        ({"format": "other"}, "format: this is 'other', not 'rain-lab-1'"),
        ({"format": FORMAT}, "tasks: this is missing, and should be a list"),
        (graph(colour="red"), "colour: unknown; known: batches, cluster, format"),
        (graph({"duration": 1}), "tasks[0].id: this is missing, and should be a text"),
        (graph({"id": "a"}), "tasks[0].duration: a duration in seconds is missing"),
        (graph({**A, "duration": "1"}), "tasks[0].duration: this is a text, and should be a"),
        (graph({**A, "duration": -1}), "tasks[0].duration: -1 is not a number from 0 on"),
        (graph({**A, "cpus": 1.5}), "tasks[0].cpus: 1.5 is not a whole number from 0 on"),
        (graph({**A, "resources": {"g p": 1}}), "tasks[0].resources: 'g p' is not the name of"),
        (graph(A, A), "tasks[1].id: there is a task 'a' already"),
        (graph(A, {**A, "id": "c"}), "tasks[1].outputs[0].id: there is an object 'x' already"),
        (graph(B), "tasks[0].inputs[0]: there is no object 'x'"),
        (graph({**A, "outputs": [{"id": "x"}]}), "tasks[0].outputs[0].size: a size in bytes is"),
        (graph({**A, "outputs": [{"id": "x", "size": 1, "kept": 1}]}), "kept: this is a number"),
        (graph({**A, "inputs": ["x"]}), "has a cycle: the task 'a' would wait for itself"),
        (graph({**A, "batch": 1}), "tasks[0].batch: there are only 1 batches, counted from 0"),
        (graph(A, batches=[{"after": ["z"]}]), "batches[0].after[0]: there is no task 'z'"),
        (
            graph({**A, "batch": 1}, B, batches=[{}, {}]),
            "tasks[1].inputs[0]: it is made in a later batch",
        ),
        (graph(A, cluster={"governors": []}), "cluster.governors: a cluster has at least one"),
        (
            graph(A, cluster={"governors": [{}], "bandwidth": 0}),
            "cluster.bandwidth: it is more than 0",
        ),
        (
            graph(A, cluster={"governors": [{}], "downloads": 9}),
            "cluster.downloads: it is from 1 to 8",
        ),
    ],
)
def test_what_is_wrong_with_a_graph_is_said_with_its_place(values: object, text: str) -> None:
    with pytest.raises(LabError) as caught:
        read_graph(values, "file")
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"{", "line 1, column 2: Expecting property name"),
        (b"\xff\xfe", "this is not a text file"),
        (b"[" * 100_000, "it is nested too deeply"),
        (b'{"format": 1, "format": 2}', "the key 'format' is in one table twice"),
        (b'{"format": "x"}', "format: this is 'x'"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_its_path(
    tmp_path: Path, content: bytes, text: str
) -> None:
    path = tmp_path / "graph.json"
    path.write_bytes(content)
    with pytest.raises(LabError) as caught:
        read_file(str(path))
    assert str(caught.value).startswith(f"{path}: {text}")


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(LabError, match=r"none\.json: cannot be read: No such file"):
        read_file(str(tmp_path / "none.json"))


def test_the_example_of_the_guide_is_a_graph() -> None:
    page = Path(__file__).parents[2] / "docs" / "guide" / "lab.md"
    example = re.findall(r"^```json\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    found = read_graph(json.loads(example[0]), "guide")
    assert [task.name for task in found.workload.tasks] == ["cut", "sharpen", "sharpen"]
    assert found.cluster is not None
    assert found.cluster.cpus == 8
