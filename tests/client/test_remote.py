"""Spec 1.11: remote functions."""

import base64
import pickle
import time
from collections.abc import Callable
from typing import Any

import msgpack
import numpy as np
import pytest

from rain.client import (
    Input,
    Output,
    OutputDir,
    RainException,
    RainWarning,
    Remote,
    Session,
    Task,
    blob,
    remote,
)
from rain.client.staging import bytes_of
from rain.client.task import Task as PlainTask
from rain.common import DataType, LabeledList
from rain.common.pickles import load
from tests.client.executor import Loaded, read_call
from tests.client.fake import World


@remote()
def plain(ctx: Any, a: Any, b: Any = 5) -> Any:
    return a, b


def calls(task: Task) -> tuple[list[Any], dict[str, Any]]:
    """The arguments that the function will get, data objects shown as `Loaded`."""
    return read_call(task.wire_config)


def test_a_call_is_a_python_task_with_the_function_first(session: Session) -> None:
    task = plain(1, b="two")

    assert task.task_type == "py/"
    assert task.name == "plain"
    assert task.spec.resources == {"cpus": 1}
    function = task.inputs[0]
    assert function.label == "plain"
    assert function.content_type == "cloudpickle"
    assert function.is_kept()
    assert pickle.loads(bytes_of(function.constant or b""))(None, 1, 2) == (1, 2)
    assert calls(task) == ([1, "two"], {})
    assert [obj.label for obj in task.outputs] == ["out0"]


def test_the_function_is_uploaded_once_a_session(here: World) -> None:
    with here.session as session:
        tasks = [plain(i) for i in range(3)]
        session.submit()
        tasks.append(plain(4))
        session.submit()

        assert len({task.inputs[0].packed_id for task in tasks}) == 1
        assert here.server.kinds_told() == (["plain"], ["out0", "plain"])
    other = here.client.new_session()
    with other:
        assert plain(1).inputs[0] is not tasks[0].inputs[0]


def test_the_config_is_shown_as_in_rain_0_4(session: Session) -> None:
    config = plain(1).spec.config

    assert pickle.loads(base64.b64decode(config["args"][0])) == 1
    assert config["kwargs"] == {}
    assert config["encode_outputs"] == [None]


def annotated(**annotations: Any) -> Callable[..., Any]:
    """A function whose annotations are no types, as those of Rain's users need not be."""

    def function(ctx: Any, a: Any = None, b: Any = None, c: Any = None) -> None: ...

    function.__annotations__ = annotations
    return function


# How it is made.


def test_it_needs_parentheses_and_a_plain_function() -> None:
    with pytest.raises(RainException, match="parentheses"):

        @remote
        def bare(ctx: Any) -> None: ...

    for wrong in (len, Session, "text", plain):
        with pytest.raises(RainException, match="plain function"):
            remote()(wrong)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType] # the mistake
    with pytest.raises(RainException, match="context"):
        remote()(lambda: 1)


def test_it_keeps_the_name_and_the_text_of_the_function() -> None:
    @remote(name="other name")
    def documented(ctx: Any) -> None:
        """What it does."""

    assert isinstance(documented, Remote)
    assert documented.__doc__ == "What it does."
    assert documented.__name__ == "documented"
    assert repr(documented) == "<Remote other name>"


def test_names_and_cpus(session: Session) -> None:
    @remote(name="named", cpus=3)
    def function(ctx: Any) -> None: ...

    assert function().name == "named"
    assert function(name="call").name == "call"
    assert function().spec.resources == {"cpus": 3}
    other = remote(resources={"gpus": 1, "memory": 2**30})(function.fn)
    assert other().spec.resources == {"cpus": 1, "gpus": 1, "memory": 2**30}


def test_a_call_may_name_its_session(session: Session) -> None:
    other = Session(None, 7)

    assert plain(1, session=other).id.session_id == 7
    assert session.task_count == 0


# Outputs.


def test_outputs_are_given_by_the_decorator(session: Session) -> None:
    def labels(**options: Any) -> list[Any]:
        def function(ctx: Any) -> None: ...

        return remote(**options)(function)().outputs.labels

    assert labels() == ["out0"]
    assert labels(outputs=0) == []
    assert labels(outputs=2) == ["out0", "out1"]
    assert labels(outputs=("a", Output("b"), OutputDir("c"))) == ["a", "b", "c"]
    assert labels(outputs=LabeledList([Output()], ["x"])) == ["x"]


def test_outputs_are_given_by_the_return_annotation(session: Session) -> None:
    many = remote()(annotated(**{"return": (Output("a", encode="json"), "b")}))
    single = remote()(annotated(**{"return": OutputDir("d")}))
    none = remote()(annotated(**{"return": 0}))

    @remote()
    def typed(ctx: Any) -> "dict[str, int]":
        return {}

    assert many().outputs.labels == ["a", "b"]
    assert many().spec.config["encode_outputs"] == ["json", None]
    assert single().output.data_type is DataType.DIRECTORY
    assert len(none().outputs) == 0
    assert typed().outputs.labels == ["out0"]
    with pytest.raises(RainException, match="twice"):
        remote(outputs=1)(single.fn)


def test_outputs_of_one_call(session: Session) -> None:
    @remote(outputs=[Output("a", encode="pickle"), Output("b", size_hint=10)])
    def two(ctx: Any) -> None: ...

    task = two(outputs=["x", Output(content_type="text")])

    assert task.outputs.labels == ["x", "b"]
    assert task.outputs["b"].content_type == "text"
    assert task.output_objects[1].wire_shape.size_hint == 10
    assert two(outputs=[None, None]).outputs.labels == ["a", "b"]
    with pytest.raises(ValueError, match="2 outputs"):
        two(outputs=["x"])
    with pytest.raises(ValueError, match="2 outputs"):
        two(output="x")
    with pytest.raises(RainException, match="either"):
        two(output="x", outputs=["x"])
    assert plain(1, output="named").output.label == "named"


def test_auto_encode_encodes_what_says_nothing(session: Session) -> None:
    @remote(auto_encode="json", outputs=["a", Output("b", encode="pickle")])
    def function(ctx: Any) -> None: ...

    task = function()

    assert task.spec.config["encode_outputs"] == ["json", "pickle"]
    assert [obj.content_type for obj in task.outputs] == ["json", "pickle"]


# Arguments.


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (plain, r"plain\(\): missing a required argument: 'a'"),
        (lambda: plain(1, 2, 3), "too many positional arguments"),
        (lambda: plain(1, c=3), "unexpected keyword argument 'c'"),
        (lambda: plain(1, a=2), "multiple values for argument 'a'"),
    ],
)
def test_wrong_arguments_are_told_in_python_s_words(
    session: Session, call: Callable[[], object], message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        call()
    assert session.task_count == 0


def test_every_kind_of_parameter_gets_its_arguments(session: Session) -> None:
    @remote()
    def every(ctx: Any, a: Any, /, b: Any, *more: Any, c: Any, d: Any = 4, **rest: Any) -> None: ...

    @remote()
    def loose(*everything: Any) -> None: ...

    assert calls(every(1, 2, 3, 4, c=5, e=6)) == ([1, 2, 3, 4], {"c": 5, "e": 6})
    assert calls(every(1, b=2, c=5)) == ([1, 2], {"c": 5})
    assert calls(loose(1, 2)) == ([1, 2], {})
    with pytest.raises(TypeError, match="'c'"):
        every(1, 2)


def test_objects_and_tasks_become_inputs(session: Session) -> None:
    const, made = blob("x"), plain(1)

    task = plain(const, made)

    assert task.inputs.labels == [None, "a{0}", "b{0}"]
    assert task.inputs.data[1:] == [const, made.output]
    assert calls(task) == (
        [Loaded("a{0}", 1, False, None), Loaded("b{0}", 2, False, None)],
        {},
    )


def test_objects_are_found_anywhere_in_an_argument(session: Session) -> None:
    class Holder:
        def __init__(self, inner: Any) -> None:
            self.inner = inner

    x, y, made = blob("x"), blob("y"), plain(1)

    task = plain({"list": [x, (made, 3)]}, Holder(lambda: y))

    assert task.inputs.labels == [None, "a{0}", "a{1}", "b{0}"]
    assert task.inputs.data[1:] == [x, made.output, y]
    (first, second), _ = calls(task)
    assert first == {"list": [Loaded("a{0}", 1), (Loaded("a{1}", 2), 3)]}
    assert second.inner() == Loaded("b{0}", 3)


def test_an_object_twice_in_one_argument_is_one_input(session: Session) -> None:
    const = blob("x")

    task = plain([const, const], const)

    assert task.inputs.labels == [None, "a{0}", "b{0}"]
    (first, _), _ = calls(task)
    assert first == [Loaded("a{0}", 1), Loaded("a{0}", 1)]


def test_further_positional_arguments_have_their_index_in_the_label(session: Session) -> None:
    @remote()
    def function(ctx: Any, a: Any, *args: Any, **kwargs: Any) -> None: ...

    task = function(1, blob("x"), [blob("y"), blob("z")], named=blob("w"))

    assert task.inputs.labels == [None, "args[0]{0}", "args[1]{0}", "args[1]{1}", "named{0}"]


def test_a_task_with_several_outputs_cannot_be_an_argument(session: Session) -> None:
    several = PlainTask((), 2, task_type="a/b")

    for argument in (several, [several]):
        with pytest.raises(RainException, match="2 outputs"):
            plain(argument)


def test_a_function_may_not_hide_objects(session: Session) -> None:
    const = blob("x")

    @remote()
    def hiding(ctx: Any) -> Any:
        return const

    with pytest.raises(RainException, match="inside the arguments"):
        hiding()


def test_a_function_may_call_itself_and_other_remote_functions(session: Session) -> None:
    @remote()
    def recursive(ctx: Any, n: int) -> Any:
        return recursive, plain

    function = pickle.loads(bytes_of(recursive(1).inputs[0].constant or b""))

    again, other = function(None, 1)
    assert isinstance(again, Remote)
    assert other.name == "plain"


# Input specifications.


def hows(task: Task) -> dict[str, tuple[bool, str | None]]:
    args, kwargs = calls(task)
    found = [*args, *kwargs.values()]
    return {loaded.label.partition("{")[0]: (loaded.load, loaded.content_type) for loaded in found}


def test_inputs_are_described_by_parameter_also_when_passed_by_keyword(session: Session) -> None:
    @remote(
        inputs={
            "a": Input(load=True),
            "c": Input(content_type="json"),
            "more": Input(load=True, content_type="text"),
            "rest": Input(load=True),
        }
    )
    def function(ctx: Any, a: Any, b: Any = 0, *more: Any, c: Any = 0, **rest: Any) -> None:
        other = 1  # a local variable changes nothing
        del other

    const = blob("x")

    assert hows(function(const, const, const, c=const, z=const)) == {
        "a": (True, None),
        "b": (False, None),
        "more[0]": (True, "text"),
        "c": (False, "json"),
        "z": (True, None),
    }
    assert hows(function(b=const, a=const)) == {"a": (True, None), "b": (False, None)}


def test_inputs_are_described_by_annotations(session: Session) -> None:
    described = annotated(a=Input(load=False), b=Input(content_type="json"), c=int)
    function = remote(auto_load=True)(described)
    const = blob("x")

    assert hows(function(const, const, const)) == {
        "a": (False, None),
        "b": (True, "json"),
        "c": (True, None),
    }
    with pytest.raises(RainException, match="twice"):
        remote(inputs={"c": Input()})(described)


def test_descriptions_of_no_parameter_are_refused() -> None:
    def function(ctx: Any, a: Any) -> None: ...

    with pytest.raises(RainException, match="no parameter 'b'"):
        remote(inputs={"b": Input()})(function)
    with pytest.raises(RainException, match="must be an Input"):
        remote(inputs={"a": "text"})(function)  # type: ignore[dict-item] # pyright: ignore[reportArgumentType] # the mistake
    with pytest.raises(RainException, match="dictionary"):
        remote(inputs=[Input("a")])(function)


# Warnings.


class Large:
    def __init__(self) -> None:
        self.data = bytes(300_000)


@pytest.mark.parametrize(
    "value",
    [b"x" * 300_000, "y" * 300_000, ["z" * 300_000], {1: bytes(300_000)}, np.zeros(200_000)],
)
def test_a_large_argument_is_uploaded_once_for_equal_ones(session: Session, value: Any) -> None:
    first, second = plain(value), plain(value)

    assert session.dataobj_count == 4  # the function, the value, what the calls make
    assert [task.inputs[1] for task in (first, second)] == [first.inputs[1]] * 2
    uploaded = first.inputs[1]
    assert uploaded.content_type == "pickle"
    assert len(first.wire_config) < 1000
    assert pickle.dumps(load(bytes_of(uploaded.constant or b""))) == pickle.dumps(value)


def test_a_large_argument_without_a_length_is_uploaded_too(session: Session) -> None:
    task = plain(1, b=Large())

    assert len(load(bytes_of(task.inputs[1].constant or b"")).data) == 300_000


def test_a_large_argument_with_data_objects_inside_raises_a_warning(session: Session) -> None:
    with pytest.raises(RainWarning, match=r"^Pickled object a length 3\d* .* data objects inside"):
        plain([bytes(300_000), blob("x")])
    assert session.task_count == 0


def test_an_argument_that_takes_long_to_pickle_raises_a_warning(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([0.0, 1.5])
    monkeypatch.setattr(time, "thread_time", lambda: next(clock))

    with pytest.raises(RainWarning, match=r"^Pickled object a took 1.5 s"):
        plain(lambda: 1)


def test_the_arguments_travel_as_bytes(session: Session) -> None:
    packed = msgpack.unpackb(plain(1).wire_config)

    assert packed == {
        "args": [pickle.dumps(1, 5)],
        "kwargs": {},
        "encode_outputs": [None],
    }


def test_the_warning_about_a_large_argument_shows_the_line_to_write(session: Session) -> None:
    large = ["x" * 300_000, blob("inside")]
    with pytest.raises(RainWarning, match=r"write a = pickled\(a\) before the calls, and @remote"):
        plain(large)

    @remote(auto_load=True)
    def loaded(ctx: Any, *more: Any) -> None: ...

    with pytest.raises(RainWarning, match=r"write value = pickled\(value\) before the calls$"):
        loaded(large)
