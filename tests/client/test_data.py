"""Spec 1.6: data objects and constants."""

import pickle
from pathlib import Path

import pytest

from rain.client import DataObject, RainException, Session, Task, blob, directory, pickled
from rain.client.data import to_dataobj
from rain.client.staging import bytes_of
from rain.common import ID, DataInstance, DataType
from rain.common.attributes import ObjectInfo
from rain.common.content_type import encode_value
from tests.client.fake import World


def value_of(obj: DataObject) -> object:
    return DataInstance(data=bytes_of(obj.constant or b""), spec=obj.spec).load()


def test_ids_count_from_ten_and_are_shared_with_tasks(session: Session) -> None:
    assert blob("x").id == ID(3, 10)
    assert Task((), 1, task_type="a/b").id == ID(3, 12)
    assert blob("x").id == (3, 13)


def test_an_object_knows_its_label_its_types_and_its_spec(session: Session) -> None:
    obj = DataObject("label", content_type="json")

    assert obj.label == "label"
    assert obj.data_type is DataType.BLOB
    assert obj.content_type == "json"
    assert obj.state is None
    assert obj.info is None
    assert obj.spec.label == "label"
    assert obj.spec.data_type == "blob"
    assert repr(obj) == "<DataObject 3/10 'label' blob>"
    with pytest.raises(ValueError, match="nonsense"):
        DataObject(content_type="nonsense")


def test_the_content_type_is_narrowed_by_what_was_found(session: Session) -> None:
    obj = DataObject(content_type="text")

    obj.known_info = ObjectInfo(content_type="text-latin-1")
    assert obj.content_type == "text-latin-1"
    obj.known_info = ObjectInfo()
    assert obj.content_type == "text"


def test_keep_is_possible_until_submit(here: World) -> None:
    with here.session as session:
        obj = blob("x")
        assert not obj.is_kept()
        obj.keep()
        assert obj.is_kept()
        other = blob("y")
        session.submit()

        with pytest.raises(RainException, match="already submitted"):
            other.keep()


def test_expect_dir_and_expect_blob_raise_type_errors(session: Session) -> None:
    blob("x").expect_blob()
    directory().expect_dir()
    with pytest.raises(TypeError, match="is a blob"):
        blob("x").expect_dir()
    with pytest.raises(TypeError, match="is a directory"):
        directory().expect_blob()


def test_an_object_is_not_pickled_outside_of_arguments(session: Session) -> None:
    with pytest.raises(RainException, match="inside the arguments"):
        pickle.dumps(blob("x"))
    with pytest.raises(RainException, match="inside the arguments"):
        encode_value([blob("x")], "cloudpickle")


# Constants.


def test_a_blob_is_bytes_as_they_are_or_text(session: Session) -> None:
    raw, text, typed = blob(b"\0\1"), blob("é"), blob(b"[1]", "list", content_type="json")

    assert (raw.constant, raw.content_type, raw.label) == (b"\0\1", None, "const")
    assert (text.constant, text.content_type) == ("é".encode(), "text")
    assert (typed.constant, typed.content_type, typed.label) == (b"[1]", "json", "list")


def test_a_blob_encodes_any_value(session: Session) -> None:
    assert value_of(blob([1, 2], encode="json")) == [1, 2]
    assert blob([1, 2], encode="json").content_type == "json"
    assert blob("é", encode="text-latin-1").constant == "é".encode("latin-1")
    assert value_of(pickled({1, 2})) == {1, 2}
    assert pickled(1).label == "pickle"
    assert pickled(1).content_type == "pickle"


def test_a_blob_refuses_what_is_ambiguous(session: Session) -> None:
    with pytest.raises(RainException, match="either"):
        blob("x", content_type="text", encode="text")
    with pytest.raises(RainException, match="content_type describes bytes"):
        blob("x", content_type="text")
    with pytest.raises(RainException, match="needs encode"):
        blob(123)
    with pytest.raises(ValueError, match="nonsense"):
        blob("x", encode="nonsense")
    assert session.dataobj_count == 0


def test_a_directory_is_a_copy_of_a_local_one(session: Session, tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "sub").mkdir(parents=True)
    (source / "sub" / "file").write_text("content")

    obj = directory(str(source), "label")

    assert obj.label == "label"
    assert obj.data_type is DataType.DIRECTORY
    assert obj.spec.data_type == "dir"
    DataInstance(data=bytes_of(obj.constant or b""), spec=obj.spec).write(tmp_path / "copy")
    assert (tmp_path / "copy" / "sub" / "file").read_text() == "content"
    with pytest.raises(RainException, match="no directory"):
        directory(tmp_path / "nowhere")


def test_a_directory_can_be_described_by_a_mapping_or_be_empty(
    session: Session, tmp_path: Path
) -> None:
    obj = directory({"a": b"A", "sub": {"b": "B"}})
    empty = directory()

    DataInstance(data=bytes_of(obj.constant or b""), spec=obj.spec).write(tmp_path / "made")
    DataInstance(data=bytes_of(empty.constant or b""), spec=empty.spec).write(tmp_path / "empty")

    assert (tmp_path / "made" / "sub" / "b").read_text() == "B"
    assert obj.label == "const_dir"
    assert list((tmp_path / "empty").iterdir()) == []


def test_to_dataobj_takes_objects_and_tasks_with_one_output(session: Session) -> None:
    obj = blob("x")
    one = Task((), 1, task_type="a/b")

    assert to_dataobj(obj) is obj
    assert to_dataobj(one) is one.output
    with pytest.raises(RainException, match="has no output"):
        to_dataobj(Task((), 0, task_type="a/b"))
    with pytest.raises(RainException, match="has 2 outputs"):
        to_dataobj(Task((), 2, task_type="a/b"))
    for value in ("text", b"bytes", 1, None):
        with pytest.raises(RainException, match=r"blob\(\)"):
            to_dataobj(value)


def test_what_users_note_in_the_spec_is_sent(here: World) -> None:
    with here.session as session:
        obj = blob("x")
        obj.spec.user["_testing"] = {"size": 5}
        plain = blob("y")
        session.submit()

        kinds = {kind.id: kind for kind in here.server.submissions[0].object_kinds}
        columns = here.server.submissions[0].constants
        of = {number: kinds[kind] for number, kind in zip(columns.ids, columns.kinds, strict=True)}
        assert of[obj.packed_id].user == '{"_testing": {"size": 5}}'
        assert of[plain.packed_id].user == ""


def test_notes_that_are_no_json_are_refused(here: World) -> None:
    with here.session as session:
        blob("x").spec.user["object"] = object()

        with pytest.raises(RainException, match="not JSON"):
            session.submit()
        session.close()
