"""The context, inputs and outputs, in a real process."""

import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rain.base import executor_protocol as protocol
from rain.common.class_versions import dumps_with_versions
from rain.common.fs import pack_tree, unpack
from rain.common.imports import Imports, with_imports
from rain.common.pickles import PICKLE_PROTOCOL, dump_parts, joined
from rain.executor.executor import unpickle_input_object
from rain.stream.shared_memory import BOARD, Board
from tests.executor.child import FOLDER, PICKLED, PLAIN, TEXT, Child, Function, child, number
from tests.support.filesystems import another_filesystem


class Nested:
    """Stands in an argument for a data object, and is pickled as the client does it."""

    def __init__(self, index: int, load: bool = False, content_type: str | None = None) -> None:
        self.args = ("a{0}", index, load, content_type)

    def __reduce__(self) -> tuple[Any, ...]:
        return unpickle_input_object, self.args


def an_input(value: int, content: bytes | int, kind: int = PLAIN, found: str = "") -> list[Any]:
    size = len(content) if isinstance(content, bytes) else 1000
    return [number(value), number(kind), found, "", size, content]


# Inputs.


def test_a_nested_object_is_a_data_instance(executor: Child) -> None:
    def read(ctx: Any, given: Any) -> Any:
        instance = given["deep"][0]
        return instance.get_bytes(), instance.content_type, instance.spec.label, instance.info.size

    nested = {"deep": [Nested(1)]}
    assert executor.value(read, nested, inputs=(an_input(20, b"data"),)) == (
        b"data",
        None,
        "plain",
        4,
    )


def test_a_nested_object_can_be_loaded(executor: Child) -> None:
    data = pickle.dumps([1, 2])
    given = (an_input(20, data, PICKLED),)
    assert executor.value(lambda ctx, value: value, Nested(1, load=True), inputs=given) == [1, 2]


def test_what_was_found_out_about_an_input_counts_more_than_what_was_declared(
    executor: Child,
) -> None:
    given = (an_input(20, "\xe9".encode("latin-1"), TEXT, "text-latin-1"),)
    assert executor.value(lambda ctx, x: (x.content_type, x.load()), Nested(1), inputs=given) == (
        "text-latin-1",
        "\xe9",
    )


def test_an_input_is_read_as_the_function_says(executor: Child) -> None:
    given = (an_input(20, b"[1]"),)
    nested = Nested(1, load=True, content_type="json")
    assert executor.value(lambda ctx, value: value, nested, inputs=given) == [1]


def test_an_input_that_is_not_what_the_function_says_fails_the_task(executor: Child) -> None:
    given = (an_input(20, b"[1]", TEXT),)
    nested = Nested(1, load=True, content_type="json")
    text = executor.failure(lambda ctx, value: value, nested, inputs=given)
    assert "'text' and 'json' are not compatible" in text


def test_a_stored_input_is_read_from_the_governors_folder(executor: Child) -> None:
    (executor.places.data / "77").write_bytes(b"stored")
    given = (an_input(20, 77),)
    assert executor.value(lambda ctx, x: (x.get_bytes(), x.path.name), Nested(1), inputs=given) == (
        b"stored",
        "77",
    )


def test_a_directory_can_be_read_from_memory_and_from_the_store(executor: Child) -> None:
    packed = pack_tree({"a": {"b": "text"}})
    unpack(packed, executor.places.data / "78")
    given = (an_input(20, packed, FOLDER), an_input(21, 78, FOLDER))

    def read(ctx: Any, one: Any, other: Any) -> list[str]:
        one.write("one")
        other.link("other")
        return [Path(name, "a", "b").read_text() for name in ("one", "other")]

    assert executor.value(read, Nested(1), Nested(2), inputs=given) == ["text", "text"]


def test_a_function_that_is_stored_is_unpickled_from_there(executor: Child) -> None:
    (executor.places.data / "79").write_bytes(executor.pickled(lambda ctx: "stored"))
    row = [number(50), number(PLAIN), "", "", 1000, 79]
    executor.say(protocol.CALLS, 1, [], [], [row], [], None)
    assert executor.value(number(50)) == "stored"


def test_an_array_that_a_function_has_captured_stays_in_the_stored_file(executor: Child) -> None:
    captured = np.arange(100_000)

    def change(ctx: Any) -> tuple[int, bool]:
        captured[0] += 1
        maps = Path("/proc/self/maps").read_text(encoding="ascii")
        return int(captured.sum()), "/data/79" in maps

    stored = executor.places.data / "79"
    parts = dump_parts(dumps_with_versions, change, PICKLE_PROTOCOL)
    stored.write_bytes(with_imports(joined(parts), Imports("key", ())))
    before = stored.read_bytes()
    row = [number(50), number(PLAIN), "", "", len(before), 79]
    executor.say(protocol.CALLS, 1, [], [], [row], [], None)
    total = sum(range(100_000))
    # its process keeps what it has changed, as it does with anything that is captured
    assert executor.value(number(50)) == (total + 1, True)
    assert executor.value(number(50)) == (total + 2, True)
    assert stored.read_bytes() == before


# What a task knows of itself.


def test_a_task_knows_its_spec(executor: Child) -> None:
    def tell(ctx: Any) -> Any:
        spec = ctx.spec
        return (
            spec.id,
            spec.task_type,
            spec.name,
            spec.resources,
            [(one.id, one.label) for one in spec.inputs],
            spec.outputs,
            sorted(spec.config),
        )

    found = executor.value(tell, inputs=(an_input(20, b""),), labels=("", "label"))
    assert found == (
        (5, 100_001),
        "py/",
        "name",
        {"cpus": 2},
        [((5, 11), None), ((5, 20), "label")],
        [(5, 1000)],
        ["args", "encode_outputs", "kwargs"],
    )


def test_a_failure_that_is_not_to_be_tried_again_says_so_and_why(executor: Child) -> None:
    def fail(ctx: Any) -> None:
        raise TimeoutError

    for_others = executor.call(fail, retry_on=pickle.dumps((KeyError, ValueError)))
    for_it = executor.call(fail, retry_on=pickle.dumps((OSError,)))
    unreadable = executor.call(fail, retry_on=b"no pickle")
    assert for_others[2].endswith("TimeoutError is not in retry_on (KeyError, ValueError).\n")
    assert "retry_on cannot be read here" in unreadable[2]
    assert [answer[7:] for answer in (for_others, for_it, unreadable)] == [[True], [], [True]]


def test_debug_lines_and_notes_are_told_with_success_and_failure(executor: Child) -> None:
    def good(ctx: Any) -> None:
        ctx.debug("{} and {b}", 1, b=2)
        ctx.debug("next")
        ctx.info.user["note"] = 1

    def bad(ctx: Any) -> None:
        ctx.debug("before")
        raise ValueError("after")

    assert executor.call(good)[3:] == ["1 and 2\nnext", '{"note": 1}']
    assert executor.call(bad)[3:5] == ["before", ""]
    assert executor.call(lambda ctx: None)[3:] == []


def test_notes_that_are_not_json_fail_the_task(executor: Child) -> None:
    def bad(ctx: Any) -> None:
        ctx.info.user["note"] = object()

    assert "not JSON serializable" in executor.failure(bad)
    assert executor.value(lambda ctx: 1) == 1


def test_debug_wants_a_format_string(executor: Child) -> None:
    assert "the message is a format string" in executor.failure(lambda ctx: ctx.debug(1))


# Outputs.


def test_bytes_are_taken_as_they_are(executor: Child) -> None:
    assert executor.call(lambda ctx: b"raw", outputs=(PLAIN,))[2] == [b"raw"]


def test_text_becomes_text(executor: Child) -> None:
    answer = executor.call(lambda ctx: "text", outputs=(PLAIN,))
    assert answer[2] == [[protocol.BYTES, b"text", "text", ""]]


def test_text_for_an_output_that_is_declared_as_text_needs_no_word(executor: Child) -> None:
    assert executor.call(lambda ctx: "text", outputs=(TEXT,))[2] == [b"text"]


def test_several_outputs_come_as_a_sequence_or_by_label(executor: Child) -> None:
    how: dict[str, Any] = {"outputs": (PLAIN, TEXT)}
    assert executor.call(lambda ctx: (b"1", "2"), **how)[2] == [b"1", b"2"]
    assert executor.call(lambda ctx: {"text": "2", "plain": b"1"}, **how)[2] == [b"1", b"2"]


def test_no_output_is_none_or_an_empty_tuple(executor: Child) -> None:
    assert executor.call(lambda ctx: None, outputs=())[2] == []
    assert executor.call(lambda ctx: (), outputs=())[2] == []


@pytest.mark.parametrize(
    ("value", "outputs", "complaint"),
    [
        (b"", (), "has no outputs, but returned"),
        (None, (PLAIN,), "The output 'plain' is <class 'NoneType'>"),
        ((b"",), (PLAIN, TEXT), "has 2 outputs, but returned 1 values"),
        (b"ab", (PLAIN, TEXT), "return a dictionary or a sequence"),
        (7, (PLAIN, TEXT), "return a dictionary or a sequence"),
        ({"plain": b"", "x": b""}, (PLAIN, TEXT), "not returned: ['text'], unknown: ['x']"),
        (b"", (FOLDER,), "is a directory, but a blob was returned"),
    ],
)
def test_a_wrong_result_fails_the_task_and_says_why(
    executor: Child, value: Any, outputs: tuple[int, ...], complaint: str
) -> None:
    said = executor.failure(lambda ctx: value, outputs=outputs)
    assert complaint in said
    assert "Traceback" not in said  # nothing of it would be the user's


def test_a_result_that_finds_no_room_fails_the_task_with_one_line(executor: Child) -> None:
    stage = executor.folder / "stage"
    stage.rmdir()
    size = protocol.INLINE_RESULT + 1
    said = executor.failure(lambda ctx: b"x" * size, outputs=(PLAIN,))
    assert said == f"cannot write into {stage}: No such file or directory"


def test_a_large_result_is_left_in_a_file(executor: Child) -> None:
    size = protocol.INLINE_RESULT + 1
    ((what, path, content_type, user),) = executor.call(lambda ctx: b"x" * size, outputs=(PLAIN,))[
        2
    ]
    assert (what, content_type, user) == (protocol.FILE, "", "")
    assert Path(path).parent == executor.folder / "stage"
    assert Path(path).stat().st_size == size


def test_a_large_result_goes_to_shared_memory_while_there_is_room(tmp_path: Path) -> None:
    size = protocol.INLINE_RESULT + 1
    with another_filesystem() as shared:
        board = Board(f"{shared}/{BOARD}", new=True)
        board.write(room=size, memory=1)  # a machine whose kernel writes back at once
        with child(tmp_path, shared) as executor:
            paths = [
                Path(executor.call(lambda ctx: b"x" * size, outputs=(PLAIN,))[2][0][1])
                for _ in range(2)
            ]
            board.write(room=2 * size, memory=1)
            three = executor.call(lambda ctx: [b"x" * size] * 3, outputs=(PLAIN,) * 3)[2]
            paths += [Path(path) for _, path, *_ in three]
        folders = [path.parent == shared / "stage-7" for path in paths]
        board.close()
    assert folders == [True, False, True, True, False]


def test_what_has_left_shared_memory_is_read_from_the_disk(tmp_path: Path) -> None:
    def read(ctx: Any, given: Any) -> Any:
        return given.get_bytes()

    file = protocol.SHARED | 5
    how: dict[str, Any] = {"inputs": (an_input(20, file),)}
    with another_filesystem() as shared, child(tmp_path, shared) as executor:
        (shared / str(file)).write_bytes(b"here")
        assert executor.value(read, Nested(1), **how) == b"here"
        (tmp_path / "data" / str(file)).write_bytes(b"disk")
        (shared / str(file)).unlink()
        assert executor.value(read, Nested(1), **how) == b"disk"


def test_blobs_of_the_context(executor: Child) -> None:
    how: dict[str, Any] = {"outputs": (PLAIN,)}

    def said(function: Function) -> Any:
        (output,) = executor.call(function, **how)[2]
        return output

    assert said(lambda ctx: ctx.blob(b"x")) == b"x"
    assert said(lambda ctx: ctx.blob("x")) == [protocol.BYTES, b"x", "text", ""]
    assert said(lambda ctx: ctx.blob(b"x", "json")) == [protocol.BYTES, b"x", "json", ""]
    assert said(lambda ctx: ctx.blob([1], encode="json")) == [protocol.BYTES, b"[1]", "json", ""]
    assert said(lambda ctx: ctx.pickled(1))[2] == "pickle"
    assert said(lambda ctx: ctx.pickled(1, content_type="cloudpickle"))[2] == "cloudpickle"


@pytest.mark.parametrize(
    ("how", "complaint"),
    [
        ({"value": b"", "content_type": "json", "encode": "json"}, "either content_type or encode"),
        ({"value": 1}, "expected bytes or str"),
    ],
)
def test_wrong_blobs_are_refused(executor: Child, how: dict[str, Any], complaint: str) -> None:
    assert complaint in executor.failure(lambda ctx: ctx.blob(**how))


def test_an_output_must_be_of_the_type_that_was_declared(executor: Child) -> None:
    text = executor.failure(lambda ctx: ctx.blob([1], encode="json"), outputs=(TEXT,))
    assert "declared as 'text', but is 'json'" in text


def test_an_input_is_passed_on_without_its_bytes(executor: Child) -> None:
    def note(ctx: Any, value: Any) -> Any:
        value.info.user["seen"] = True
        return value

    given = (an_input(20, b"data", PLAIN, "json"),)
    answer = executor.call(note, Nested(1), inputs=given, outputs=(PLAIN,))
    assert answer[2] == [[protocol.INPUT, number(20), "json", '{"seen": true}']]


def test_an_input_of_an_earlier_task_is_copied(executor: Child) -> None:
    def keep(ctx: Any, value: Any) -> None:
        sys.modules["kept"] = value

    executor.call(keep, Nested(1), inputs=(an_input(20, b"data"),))
    kept = executor.call(lambda ctx: sys.modules["kept"], outputs=(PLAIN,))
    assert kept[2] == [b"data"]


# Staging.


def test_a_staged_file_is_returned_as_a_file(executor: Child) -> None:
    def make(ctx: Any) -> Any:
        Path("made").write_text("[1]")
        return ctx.stage_file("made", content_type="json")

    ((what, path, content_type, _),) = executor.call(make, outputs=(PLAIN,))[2]
    assert (what, content_type) == (protocol.FILE, "json")
    assert Path(path).read_text() == "[1]"


def test_a_staged_directory_is_returned_as_a_directory(executor: Child) -> None:
    def make(ctx: Any) -> Any:
        Path("made/deep").mkdir(parents=True)
        Path("made/deep/file").write_text("x")
        return ctx.stage_directory("made")

    ((what, path, _, _),) = executor.call(make, outputs=(FOLDER,))[2]
    assert what == protocol.FILE
    assert Path(path, "deep", "file").read_text() == "x"


def test_one_staged_file_can_be_two_outputs(executor: Child) -> None:
    def make(ctx: Any) -> Any:
        Path("made").write_text("x")
        staged = ctx.stage_file("made")
        return staged, staged

    one, other = executor.call(make, outputs=(PLAIN, PLAIN))[2]
    assert one[1] != other[1]
    assert [Path(output[1]).read_text() for output in (one, other)] == ["x", "x"]


@pytest.mark.parametrize("fails", [False, True])
def test_what_is_staged_and_not_returned_is_removed(executor: Child, fails: bool) -> None:
    def make(ctx: Any) -> None:
        Path("file").touch()
        Path("folder").mkdir()
        ctx.stage_file("file")
        ctx.stage_directory("folder")
        if fails:
            raise ValueError

    executor.call(make)
    assert list((executor.folder / "stage").iterdir()) == []


@pytest.mark.parametrize(
    ("path", "complaint"),
    [
        ("/etc/passwd", "Only paths inside of the task's folder"),
        ("../x", "Only paths inside of the task's folder"),
        ("nothing", "There is no file 'nothing'"),
        (".", "There is no file '.'"),
    ],
)
def test_only_files_of_the_task_can_be_staged(executor: Child, path: str, complaint: str) -> None:
    assert complaint in executor.failure(lambda ctx: ctx.stage_file(path))


def test_data_objects_cannot_be_unpickled_outside_of_a_task() -> None:
    with pytest.raises(RuntimeError, match="inside a running task"):
        unpickle_input_object("a", 1, False, None)


@pytest.mark.parametrize("value", [7, 0.5, True, "text", b"bytes", None, [7]])
def test_a_value_comes_back_whatever_its_type_is(executor: Child, value: object) -> None:
    assert executor.value(lambda ctx: value) == value


def test_a_long_text_that_is_pickled_is_left_in_a_file(executor: Child) -> None:
    ((what, path, *_),) = executor.call(lambda ctx: "long" * 20_000)[2]
    assert what == protocol.FILE
    assert pickle.loads(Path(path).read_bytes()) == "long" * 20_000
