"""Spec 1.9: Input and Output."""

from typing import Any

import pytest

from rain.client import (
    Input,
    InputDir,
    Output,
    OutputDir,
    RainException,
    Session,
    blob,
    directory,
    tasks,
)
from rain.client.output import OutputSpec, to_output
from rain.client.shapes import ObjectShape
from rain.common import LabeledList


def test_the_path_of_an_input_is_its_label_or_a_name_of_its_own() -> None:
    assert Input("a").path == "a"
    assert Input("a", path="b").path == "b"
    assert Input().path != Input().path


def test_an_input_takes_objects_of_its_own_data_type(session: Session) -> None:
    const = blob("x")

    assert Input("a", dataobj=const).dataobj is const
    assert InputDir("a", dataobj=directory()).dataobj is not None
    assert Input("a", dataobj=tasks.Concat([const])).dataobj is not None
    with pytest.raises(RainException, match="blob"):
        Input("a", dataobj=directory())
    with pytest.raises(RainException, match="directory"):
        InputDir("a", dataobj=const)
    with pytest.raises(ValueError, match="nonsense"):
        Input("a", content_type="nonsense")


def test_an_output_describes_an_object() -> None:
    output = Output("a", content_type="text", encode="text-latin-1", size_hint=10)

    assert output.path == "a"
    assert output.content_type == "text-latin-1"
    assert output.shape() == ObjectShape("a", "text-latin-1", "blob", "", 10)
    assert OutputDir().shape("out0") == ObjectShape("out0", None, "dir")


def test_an_output_refuses_modes_unknown_types_and_contradictions() -> None:
    with pytest.raises(RainException, match="mode"):
        Output("a", mode="file")
    with pytest.raises(ValueError, match="nonsense"):
        Output("a", content_type="nonsense")
    with pytest.raises(ValueError, match="nonsense"):
        Output("a", encode="nonsense")
    with pytest.raises(RainException, match="are not compatible"):
        Output("a", encode="json", content_type="pickle")


def test_a_call_s_output_is_completed_by_the_prototype() -> None:
    prototype = Output("p", size_hint=5, encode="cloudpickle", path="file")

    merged = Output("c", encode="pickle").merged(prototype)

    assert (merged.label, merged.path, merged.size_hint) == ("c", "c", 5)
    assert merged.encode == "cloudpickle"
    assert Output(size_hint=7).merged(prototype).label == "p"
    assert Output(size_hint=7).merged(prototype).path == "file"
    assert Output(size_hint=7).merged(prototype).size_hint == 7
    with pytest.raises(RainException):
        Output("c", encode="json").merged(prototype)
    with pytest.raises(RainException, match="directory"):
        OutputDir("c").merged(prototype)


def test_to_output_takes_labels_and_outputs() -> None:
    output = OutputDir("a")

    assert to_output(output) is output
    assert to_output("a").label == "a"
    with pytest.raises(TypeError):
        to_output(1)


@pytest.mark.parametrize(
    ("given", "labels"),
    [
        (0, []),
        (1, ["out0"]),
        (3, ["out0", "out1", "out2"]),
        (Output("x"), ["x"]),
        ("x", ["x"]),
        (["x", Output(), OutputDir("z")], ["x", "out1", "z"]),
        (LabeledList([Output(), None], ["x", None]), ["x", "out1"]),
        (LabeledList([Output("own")], ["x"]), ["own"]),
        ((), []),
    ],
)
def test_the_outputs_of_a_function_have_labels(given: object, labels: list[str]) -> None:
    assert [shape.label for shape in OutputSpec(given).shapes] == labels


def test_auto_encode_fills_what_is_not_said_and_spares_directories() -> None:
    spec = OutputSpec([Output("a"), Output("b", encode="json"), OutputDir("c")], "pickle")

    assert spec.encodings == ["pickle", "json", None]
    assert [shape.content_type for shape in spec.shapes] == ["pickle", "json", None]


def test_outputs_of_a_call_have_the_right_number() -> None:
    spec = OutputSpec(2)

    assert [o.label for o in spec.merged(["x", None]).outputs] == ["x", "out1"]
    with pytest.raises(ValueError, match="2 outputs are expected, not 1"):
        spec.merged(["x"])
    with pytest.raises(RainException, match="not unique"):
        spec.merged(["x", "x"])
    with pytest.raises(ValueError, match="-1"):
        OutputSpec(-1)


@pytest.mark.parametrize(("given", "meant"), [(0.1, 1), (2.5, 3), (0, 0), (1e6, 1_000_000)])
def test_a_size_hint_may_be_any_number_of_bytes(given: float, meant: int) -> None:
    assert Output(size_hint=given).shape().size_hint == meant


@pytest.mark.parametrize("wrong", [-1, float("nan"), float("inf"), True, "2 MB"])
def test_a_size_hint_that_is_no_size_is_refused(wrong: Any) -> None:
    with pytest.raises(
        RainException, match=r"Output: size_hint is .*; it must be a number of bytes"
    ):
        Output(size_hint=wrong)
