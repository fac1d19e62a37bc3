import os
import stat
from pathlib import Path

import pytest

from rain.common import ID, DataInstance, DataType, RainException
from rain.common.attributes import ObjectInfo, ObjectSpec
from rain.common.fs import pack_tree


def spec(content_type: str | None = None, data_type: str = "blob") -> ObjectSpec:
    return ObjectSpec(ID(1, 10), "x", content_type, data_type)


def stored_directory(folder: Path) -> Path:
    """A read-only directory, as storage keeps it."""
    source = folder / "stored"
    (source / "sub").mkdir(parents=True)
    (source / "sub" / "program").write_bytes(b"run")
    (source / "sub" / "program").chmod(0o555)
    (source / "a").write_bytes(b"A")
    (source / "a").chmod(0o444)
    (source / "sub").chmod(0o555)
    return source


def test_data_in_memory_is_read_as_bytes_text_and_value() -> None:
    instance = DataInstance(data=b'{"a": 1}', spec=spec("json"))

    assert instance.get_bytes() == b'{"a": 1}'
    assert instance.get_str() == '{"a": 1}'
    assert instance.load() == {"a": 1}
    assert instance.content_type == "json"
    assert instance.data_type is DataType.BLOB


def test_empty_data_is_data() -> None:
    instance = DataInstance(data=b"", spec=spec("text"))

    assert instance.load() == ""
    assert instance.get_bytes() == b""
    assert "0 B" in repr(instance)


def test_what_was_found_out_overrides_what_was_declared() -> None:
    found = ObjectInfo(content_type="text-latin-1")
    instance = DataInstance(data="é".encode("latin-1"), spec=spec("text"), info=found)

    assert instance.content_type == "text-latin-1"
    assert instance.get_str() == "é"
    assert instance.load() == "é"


def test_a_cached_value_is_made_once() -> None:
    instance = DataInstance(data=b"[1]", content_type="json")

    assert instance.load() is not instance.load()
    assert instance.load(cache=True) is instance.load()


def test_a_blob_is_written_as_a_copy_that_may_be_changed(tmp_path: Path) -> None:
    source = tmp_path / "stored"
    source.write_bytes(b"content")
    source.chmod(0o444)

    DataInstance(path=source).write(tmp_path / "from-path")
    DataInstance(data=b"content").write(str(tmp_path / "from-memory"))

    for name in ("from-path", "from-memory"):
        copy = tmp_path / name
        assert copy.read_bytes() == b"content"
        assert copy.stat().st_mode & stat.S_IWUSR


def test_a_blob_in_storage_is_linked_and_one_in_memory_is_written(tmp_path: Path) -> None:
    source = tmp_path / "stored"
    source.write_bytes(b"content")

    DataInstance(path=source).link(tmp_path / "link")
    DataInstance(data=b"content").link(tmp_path / "file")

    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "link").read_bytes() == b"content"
    assert not (tmp_path / "file").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"content"


def test_a_directory_in_storage_is_copied_writable_and_programs_stay_programs(
    tmp_path: Path,
) -> None:
    source = stored_directory(tmp_path)
    instance = DataInstance(path=source, spec=spec(data_type="dir"))

    instance.write(tmp_path / "copy")

    copy = tmp_path / "copy"
    (copy / "a").write_bytes(b"changed")
    (copy / "sub" / "new").write_bytes(b"new")
    assert os.access(copy / "sub" / "program", os.X_OK)
    assert (source / "a").read_bytes() == b"A"


def test_the_bytes_of_a_directory_are_its_archive_wherever_it_is(tmp_path: Path) -> None:
    stored = DataInstance(path=stored_directory(tmp_path), data_type=DataType.DIRECTORY)

    in_memory = DataInstance(data=stored.get_bytes(), data_type=DataType.DIRECTORY)
    in_memory.write(tmp_path / "copy")

    assert (tmp_path / "copy" / "a").read_bytes() == b"A"
    assert in_memory.get_bytes() == stored.get_bytes()
    assert "directory" in repr(in_memory)


def test_a_directory_cannot_be_loaded() -> None:
    with pytest.raises(RainException, match="directory"):
        DataInstance(data=pack_tree({}), data_type=DataType.DIRECTORY).load()


def test_data_that_nobody_took_can_be_removed(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "folder" / "sub").mkdir(parents=True)

    DataInstance(path=tmp_path / "file").remove()
    DataInstance(path=tmp_path / "folder", data_type=DataType.DIRECTORY).remove()
    DataInstance(data=b"").remove()

    assert list(tmp_path.iterdir()) == []


def test_it_has_either_data_or_a_path() -> None:
    with pytest.raises(ValueError, match="either"):
        DataInstance()
    with pytest.raises(ValueError, match="either"):
        DataInstance(data=b"", path="x")


def test_data_without_a_type_is_not_loaded_but_read() -> None:
    instance = DataInstance(data=b"raw")

    with pytest.raises(RainException, match="content type"):
        instance.load()
    assert instance.get_bytes() == b"raw"
    assert instance.object_id is None
