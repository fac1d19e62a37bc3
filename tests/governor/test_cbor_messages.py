"""The frames of the protocol "cbor-1", without any process."""

import json
from typing import Any

import cbor2
import msgpack
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from rain.base.errors import ProtocolError
from rain.base.ids import KindId, ObjectId, SessionId, TaskId, pack
from rain.base.kinds import DataType, ObjectKind, TaskKind
from rain.base.resources import Resources
from rain.governor.core.effects import CallExecutor
from rain.governor.core.results import Content
from rain.governor.executors.cbor_calls import (
    Call,
    Input,
    Kinds,
    UncallableError,
    call_frame,
    drop_frame,
)
from rain.governor.executors.cbor_replies import (
    AtPath,
    ExecutorRegistered,
    Inline,
    OtherObject,
    Result,
    SaidOutput,
    decode_reply,
)

NOTHING: dict[str, Any] = {}
BLOB = ObjectKind(KindId(pack(1, 2)), "text", "text")


def a_result(**changed: Any) -> bytes:
    said: dict[str, Any] = {"task": [1, 20], "success": True, "info": {}, "outputs": [], **changed}
    return cbor2.dumps(["result", said])


def place(object_id: ObjectId, kind: ObjectKind, content: Content) -> bytes | str:
    return content if isinstance(content, bytes) else f"/data/{content}"


def a_call(**changed: Any) -> Call:
    kind = TaskKind(
        KindId(pack(1, 3)),
        changed.get("task_type", "cpp/hello"),
        "greet",
        Resources(2),
        ("who", ""),
        (BLOB.id,),
        '{"a": 1}',
    )
    inputs = (
        Input(ObjectId(pack(1, 10)), BLOB, "", "", 5, b"World"),
        Input(ObjectId(pack(1, 11)), BLOB, "text-latin1", '{"b": 2}', 9, 7),
    )
    return Call(
        pack(1, 20),
        kind,
        changed.get("config", b'{"x": [1, 2.5, null]}'),
        inputs,
        ((ObjectId(pack(1, 21)), BLOB),),
        changed.get("cached", frozenset()),
    )


def test_a_call_has_the_names_and_forms_of_rain() -> None:
    name, fields = cbor2.loads(call_frame(a_call(), place))
    assert name == "call"
    assert fields == {
        "spec": {
            "id": [1, 20],
            "task_type": "cpp/hello",
            "config": {"x": [1, 2.5, None]},
            "inputs": [{"id": [1, 10], "label": "who"}, {"id": [1, 11]}],
            "outputs": [[1, 21]],
            "resources": {"cpus": 2},
            "name": "greet",
            "user": {"a": 1},
        },
        "inputs": [
            {
                "spec": {
                    "id": [1, 10],
                    "label": "text",
                    "content_type": "text",
                    "data_type": "blob",
                },
                "info": {"size": 5},
                "location": ["memory", b"World"],
                "cache_hint": True,
            },
            {
                "spec": {
                    "id": [1, 11],
                    "label": "text",
                    "content_type": "text",
                    "data_type": "blob",
                },
                "info": {"size": 9, "content_type": "text-latin1", "user": {"b": 2}},
                "location": ["path", "/data/7"],
                "cache_hint": True,
            },
        ],
        "outputs": [
            {
                "spec": {
                    "id": [1, 21],
                    "label": "text",
                    "content_type": "text",
                    "data_type": "blob",
                },
                "cache_hint": True,
            }
        ],
    }


def test_what_the_executor_has_cached_is_not_sent_again() -> None:
    call = a_call(cached=frozenset({ObjectId(pack(1, 10))}))
    _, fields = cbor2.loads(call_frame(call, place))
    assert fields["inputs"][0]["location"] == "cached"
    assert fields["inputs"][0]["spec"]["id"] == [1, 10]


def test_python_calls_have_their_arguments_as_base64_texts() -> None:
    config = msgpack.packb({"args": [b"\x80"], "kwargs": {"k": b"\x81"}, "encode_outputs": [None]})
    _, fields = cbor2.loads(call_frame(a_call(task_type="py/", config=config), place))
    assert fields["spec"]["config"] == {
        "args": ["gA=="],
        "kwargs": {"k": "gQ=="},
        "encode_outputs": [None],
    }


@pytest.mark.parametrize("task_type", ["cpp/hello", "py/"])
@pytest.mark.parametrize("config", [b"{", b"\xff\xff", b'"\\ud800"', b"[" * 100_000])
def test_a_configuration_that_cannot_be_said_has_a_named_error(
    task_type: str, config: bytes
) -> None:
    with pytest.raises(UncallableError):
        call_frame(a_call(task_type=task_type, config=config), place)


def test_a_call_that_is_too_large_has_a_named_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rain.governor.executors.cbor_calls.LARGEST_FRAME", 100)
    with pytest.raises(UncallableError, match="may have at most 100"):
        call_frame(a_call(), place)


def test_what_need_not_be_cached_is_told_by_ids() -> None:
    ids = [ObjectId(pack(1, 10)), ObjectId(pack(2, 11))]
    assert cbor2.loads(drop_frame(ids)) == ["drop_cached", {"objects": [[1, 10], [2, 11]]}]


def test_kinds_are_forgotten_with_their_session() -> None:
    kinds = Kinds()
    other = ObjectKind(KindId(pack(2, 2)))
    kinds.learn(CallExecutor(1, [], [BLOB, other], [], []))
    kinds.forget([SessionId(1)])
    assert list(kinds.objects) == [other.id]


def test_a_registration_is_read() -> None:
    said = {"protocol": "cbor-1", "executor_id": 3, "executor_type": "cpp"}
    assert decode_reply(cbor2.dumps(["register", said])) == ExecutorRegistered("cbor-1", 3, "cpp")


def test_a_result_is_read() -> None:
    body = a_result(
        info={"debug": "words", "user": {"a": 1}},
        outputs=[
            {"info": {"content_type": "text", "user": {"b": 2}}, "location": ["memory", b"x"]},
            {"info": {"size": 7}, "location": ["path", "/a/b"], "cache_hint": True},
            {"location": ["other_object", [1, 10]]},
        ],
        cached_objects=[[1, 10]],
    )
    assert decode_reply(body) == Result(
        TaskId(pack(1, 20)),
        True,
        "",
        "words",
        '{"a": 1}',
        (
            SaidOutput(Inline(b"x"), "text", '{"b": 2}', ""),
            SaidOutput(AtPath("/a/b"), "", "", ""),
            SaidOutput(OtherObject(ObjectId(pack(1, 10))), "", "", ""),
        ),
        (ObjectId(pack(1, 10)),),
    )


def test_outputs_and_cached_objects_may_be_left_out() -> None:
    body = cbor2.dumps(["result", {"task": [1, 20], "success": False, "info": {"error": "no"}}])
    said = decode_reply(body)
    assert isinstance(said, Result)
    assert (said.success, said.error, said.outputs, said.cached) == (False, "no", (), ())


def test_null_counts_as_left_out() -> None:
    said = decode_reply(a_result(info=None, outputs=[{"info": None, "location": None}]))
    assert isinstance(said, Result)
    assert said.outputs == (SaidOutput(None, "", "", ""),)


def test_a_very_long_text_is_cut() -> None:
    said = decode_reply(a_result(info={"error": "x" * 1_000_000}))
    assert isinstance(said, Result)
    assert len(said.error) < 300_000


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        (b"", "not CBOR"),
        (b"\xff\xff", "not CBOR"),
        (cbor2.dumps("hello"), "not an array of a name and a map"),
        (cbor2.dumps(["bye", NOTHING]), "there is no message 'bye'"),
        (cbor2.dumps(["register", 1]), "register is not a map"),
        (cbor2.dumps(["register", {"executor_id": "1"}]), "'executor_id' must be a whole number"),
        (cbor2.dumps(["register", {"executor_id": True}]), "'executor_id' must be a whole number"),
        (cbor2.dumps(["register", {"name": 1}]), "register has the unknown key 'name'"),
        (a_result(speed=1), "result has the unknown key 'speed'"),
        (a_result(success=1), "'success' must be true or false"),
        (a_result(task=20), "task: 20 is not an id"),
        (a_result(task=[1, -1]), "is not an id"),
        (a_result(task=[1 << 40, 1]), "is not an id"),
        (a_result(info={"speed": 1}), "the info of a task has the unknown key 'speed'"),
        (a_result(info={"error": 1}), "'error' must be a text"),
        (a_result(info={"user": [1]}), "'user' must be a map"),
        (a_result(info={"user": {"a": b"x"}}), "that JSON can hold"),
        (a_result(info={"user": {1: 2}}), "with texts as keys"),
        (a_result(info={"user": {"a": "x" * 2_000_000}}), "at most"),
        (a_result(outputs={}), "'outputs' must be an array"),
        (a_result(outputs=[1]), "an output is not a map"),
        (a_result(outputs=[{"size": 1}]), "an output has the unknown key 'size'"),
        (a_result(outputs=[{"info": {"colour": 1}}]), "the info of an output has the unknown key"),
        (a_result(outputs=[{"location": "cached"}]), "there is no location 'cached'"),
        (a_result(outputs=[{"location": ["memory", "text"]}]), "there is no location"),
        (a_result(outputs=[{"location": ["path", b"x"]}]), "there is no location"),
        (a_result(outputs=[{"location": ["other_object", 7]}]), "other_object: 7 is not an id"),
        (a_result(cached_objects=[7]), "cached_objects: 7 is not an id"),
    ],
)
def test_what_does_not_fit_is_named(body: bytes, complaint: str) -> None:
    with pytest.raises(ProtocolError) as raised:
        decode_reply(body)
    assert complaint in str(raised.value)


def only_named_errors(body: bytes) -> None:
    try:
        said = decode_reply(body)
    except ProtocolError:
        return
    if isinstance(said, Result) and said.user:
        assert isinstance(json.loads(said.user), dict)


@given(st.binary(max_size=200))
def test_random_bytes_raise_only_named_errors(body: bytes) -> None:
    only_named_errors(body)


@pytest.mark.parametrize("depth", [100, 500, 100_000])
def test_nested_arrays_raise_only_named_errors(depth: int) -> None:
    only_named_errors(b"\x81" * depth + b"\x00")
    only_named_errors(
        a_result(info={"user": {"a": 0}})[:-1] + b"\x81" * depth + b"\x00",
    )


def test_a_map_that_contains_itself_raises_a_named_error() -> None:
    cyclic = b"\xd8\x1c\xa1\x61a\xd8\x1d\x00"
    message = b"\x82\x66result\xa3\x64task\x82\x01\x14\x67success\xf5\x64info\xa1\x64user" + cyclic
    with pytest.raises(ProtocolError, match="that JSON can hold"):
        decode_reply(message)


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
KEYS = st.sampled_from(
    [
        *("task", "success", "info", "outputs", "cached_objects", "error", "user", "location"),
        *("protocol", "executor_id", "executor_type", "debug", "content_type"),
    ]
)
IDS = st.just([1, 20])
LOCATIONS = st.tuples(st.sampled_from(["memory", "path", "other_object", "x"]), PLAIN)
LIKELY = st.recursive(
    PLAIN | IDS | LOCATIONS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=20,
)


@given(st.sampled_from(["register", "result"]), st.dictionaries(KEYS, LIKELY))
def test_messages_that_are_nearly_right_raise_only_named_errors(
    name: str, fields: dict[str, Any]
) -> None:
    only_named_errors(cbor2.dumps([name, fields]))


@given(st.data())
def test_damaged_messages_raise_only_named_errors(data: st.DataObject) -> None:
    body = bytearray(
        a_result(
            info={"debug": "words", "user": {"a": [1, 2]}},
            outputs=[{"info": {"content_type": "text"}, "location": ["memory", b"x"]}],
            cached_objects=[[1, 10]],
        )
    )
    for _ in range(data.draw(st.integers(1, 4))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    only_named_errors(bytes(body))


def test_the_data_type_of_directories_is_told_as_dir() -> None:
    folder = ObjectKind(KindId(pack(1, 5)), data_type=DataType.DIRECTORY)
    call = a_call()
    inputs = (Input(ObjectId(pack(1, 10)), folder, "", "", 5, 3),)
    kind = TaskKind(call.kind.id, "cpp/hello")
    _, fields = cbor2.loads(call_frame(Call(1, kind, b"", inputs, (), frozenset()), place))
    assert fields["inputs"][0]["spec"]["data_type"] == "dir"
    assert "config" not in fields["spec"]


def test_a_call_names_the_gpus_that_it_was_lent_and_others_name_none() -> None:
    _, without = cbor2.loads(call_frame(a_call(), place))
    _, with_gpus = cbor2.loads(call_frame(evolve(a_call(), gpus=("1", "GPU-7")), place))
    assert "gpus" not in without
    assert with_gpus["gpus"] == ["1", "GPU-7"]
