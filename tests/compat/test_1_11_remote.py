"""Spec 1.9 to 1.11: Python functions on real executors."""

import os
from pathlib import Path
from typing import Any

import pytest

from rain.client import (
    Client,
    Input,
    InputDir,
    Output,
    OutputDir,
    Session,
    blob,
    directory,
    pickled,
    remote,
    tasks,
)
from tests.compat.running import failure, result, results

pytestmark = pytest.mark.whole


class Box:
    """Something of the user's own that holds data objects."""

    def __init__(self, content: Any) -> None:
        self.content = content


def test_objects_are_found_in_attributes_closures_and_containers(session: Session) -> None:
    one = blob("one")
    two = tasks.Concat([one, blob("two")])
    inner: Any = blob("closure")  # a data instance, when the function runs

    @remote()
    def look(ctx: Any, box: Any, read: Any, *rest: Any, **named: Any) -> bytes:
        found = [box.content.get_bytes(), read(), rest[0]["k"][0][1].get_bytes()]
        return b"|".join([*found, named["last"].get_bytes()])

    def read() -> Any:
        return inner.get_bytes()

    task = look(Box(one), read, {"k": [(1, two)]}, last=one)

    assert [label for label, _ in task.inputs.items()] == [
        *(None, "box{0}", "read{0}", "rest[0]{0}", "last{0}")
    ]
    assert result(task) == b"one|closure|onetwo|one"


@pytest.mark.parametrize("encode", ["pickle", "cloudpickle", "json", "cbor", "arrow", "text"])
def test_values_go_to_a_function_and_come_back(session: Session, encode: str) -> None:
    value: Any = "text" if encode == "text" else [1, 2]

    @remote(auto_load=True, auto_encode=encode)
    def same(ctx: Any, given: Any) -> Any:
        assert given in ([1, 2], "text")
        return given

    (found,) = results(same(blob(value, encode=encode)))

    assert found.content_type == encode
    assert found.load() == value


def test_the_same_function_object_serves_all_calls_of_an_executor(session: Session) -> None:
    @remote()
    def count(ctx: Any) -> str:
        ctx.function.calls = getattr(ctx.function, "calls", 0) + 1
        return f"{os.getpid()} {ctx.function.calls}"

    said = [found.get_str().split() for found in results(*[count() for _ in range(12)])]

    by_executor: dict[str, set[int]] = {}
    for process, number in said:
        by_executor.setdefault(process, set()).add(int(number))
    for numbers in by_executor.values():
        assert numbers == set(range(1, len(numbers) + 1))


def test_an_input_is_passed_on_with_the_notes_of_the_task(session: Session) -> None:
    @remote()
    def note(ctx: Any, given: Any) -> Any:
        given.info.user["seen"] = [1]
        return given

    task = note(blob("data", label="first"))

    (found,) = results(task)

    assert found.get_bytes() == b"data"
    assert found.info is not None
    assert found.info.user == {"seen": [1]}


def test_several_inputs_are_passed_on_crosswise(session: Session) -> None:
    @remote(outputs=[OutputDir("folder"), Output("blob")], inputs={"folder": InputDir()})
    def cross(ctx: Any, data: Any, folder: Any) -> Any:
        return {"blob": data, "folder": folder}

    task = cross(blob(bytes(200_000)), directory({"a": "1", "empty": {}}))
    taken = tasks.SliceDirectory(task.outputs["folder"], "a")

    folder, data, part = results(task, taken)
    assert data.get_bytes() == bytes(200_000)
    assert folder.data_type.value == "dir"
    assert part.get_bytes() == b"1"


def test_keyword_inputs_are_described_by_their_own_parameter(session: Session) -> None:
    @remote(inputs={"loaded": Input(load=True), "rest": Input(load=False)})
    def kinds(ctx: Any, loaded: Any, plain: Any, **rest: Any) -> str:
        # The names of local variables count as little as the last parameter does.
        kinds_found = [type(value).__name__ for value in (loaded, plain, rest["other"])]
        return " ".join(kinds_found)

    task = kinds(other=pickled(1), plain=pickled(2), loaded=pickled(3))

    assert result(task) == b"int DataInstance DataInstance"


def test_size_hints_are_told_and_merged(session: Session) -> None:
    @remote(outputs=[Output("a", size_hint=10), Output("b", size_hint=10)])
    def two(ctx: Any) -> Any:
        return b"a", b"b"

    task = two(outputs=[Output(size_hint=20), None])

    assert [obj.wire_shape.size_hint for obj in task.outputs] == [20, 10]
    assert [found.get_bytes() for found in results(task)] == [b"a", b"b"]


def test_an_annotation_may_be_one_bare_output(session: Session) -> None:
    def bare(ctx: Any) -> Any:
        return {"a": 1}

    def nothing(ctx: Any) -> Any:
        return None

    # `def bare(ctx) -> Output(encode="json")`, which no type checker likes.
    bare.__annotations__["return"] = Output(encode="json")
    nothing.__annotations__["return"] = 0

    assert len(remote()(nothing)().outputs) == 0
    assert results(remote()(bare)())[0].load() == {"a": 1}


@pytest.mark.parametrize(
    ("outputs", "value", "words"),
    [
        (1, None, "return bytes, str or a data instance"),
        (2, b"x", "2 outputs"),
        (2, [b"x"], "2 outputs, but returned 1"),
        (0, b"x", "no outputs"),
        (["a", "b"], {"a": b"x"}, "'b'"),
    ],
)
def test_a_wrong_result_fails_with_the_names_of_what_is_wrong(
    client: Client, outputs: Any, value: Any, words: str
) -> None:
    @remote(outputs=outputs)
    def wrong(ctx: Any) -> Any:
        return value

    assert words in failure(client, wrong)


def test_an_executor_goes_on_after_a_task_that_raised(client: Client) -> None:
    @remote()
    def who(ctx: Any) -> str:
        if ctx.spec.name == "bad":
            raise KeyError(f"pid {os.getpid()}")
        return str(os.getpid())

    raised = failure(client, lambda: who(name="bad"))
    with client.new_session("after"):
        serving = {found.get_str() for found in results(*[who() for _ in range(40)])}

    assert any(f"pid {number}'" in raised for number in serving)


def test_a_task_starts_in_an_empty_folder(session: Session) -> None:
    @remote()
    def litter(ctx: Any) -> str:
        found = sorted(str(path) for path in Path().iterdir())
        Path("left").mkdir()
        Path("left/over").write_text("x")
        return repr(found)

    assert {found.get_str() for found in results(*[litter() for _ in range(12)])} == {"[]"}
