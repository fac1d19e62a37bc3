"""Spec 1.14: finished data in the client and in functions."""

from pathlib import Path
from typing import Any

import pytest

from rain.client import Session, blob, directory, pickled, remote, tasks
from tests.compat.running import result, results

pytestmark = pytest.mark.whole


@pytest.mark.parametrize("size", [0, 10, 300_000])
def test_a_function_reads_writes_and_links_its_input(session: Session, size: int) -> None:
    @remote()
    def use(ctx: Any, data: Any) -> bytes:
        data.write("written")
        data.link("linked")
        with Path("written").open("ab") as file:
            file.write(b"!")
        assert Path("linked").read_bytes() == data.get_bytes()
        assert data.data_type.value == "blob"
        assert data.spec.label == "input"
        assert data.info.size == len(data.get_bytes())
        return Path("written").read_bytes()

    assert result(use(blob(bytes(size), label="input"))) == bytes(size) + b"!"


@pytest.mark.parametrize("size", [10, 300_000])
def test_a_function_reads_a_directory_as_files_and_as_a_tar(session: Session, size: int) -> None:
    @remote()
    def use(ctx: Any, folder: Any) -> bytes:
        folder.link("linked")
        folder.write("copy")
        Path("copy/new").write_text("mine")
        names = sorted(path.name for path in Path("linked").iterdir())
        assert names == ["data", "empty"]
        return bytes(folder.get_bytes())

    archive = result(use(directory({"data": bytes(size), "empty": {}})))

    assert archive == result_of_local({"data": bytes(size), "empty": {}})


def result_of_local(tree: dict[str, Any]) -> bytes:
    from rain.common.fs import pack_tree  # noqa: PLC0415 # only here

    return pack_tree(tree)


def test_nothing_is_a_value_too(session: Session) -> None:
    @remote(auto_load=True)
    def shown(ctx: Any, value: Any) -> str:
        return repr(value)

    empty = blob("")
    large = pickled(bytes(300_000))
    empty.keep()
    assert result(shown(empty)) == b"''"
    assert len(result(shown(large))) > 300_000
    assert empty.fetch().load() == ""
    assert repr(empty.fetch())


def test_a_cached_value_is_made_once(session: Session) -> None:
    @remote()
    def twice(ctx: Any, data: Any) -> str:
        cached = data.load(cache=True)
        return f"{data.load(cache=True) is cached} {data.load() is cached}"

    assert result(twice(pickled([1, 2]))) == b"True True"


def test_what_was_fetched_is_written_as_a_copy(session: Session, tmp_path: Path) -> None:
    data, folder = results(
        tasks.Concat([blob("x")]), tasks.MakeDirectory({"sub/a": blob("1"), "e": directory({})})
    )
    data.write(tmp_path / "written")
    data.link(tmp_path / "linked")
    folder.write(tmp_path / "folder")
    (tmp_path / "folder" / "sub" / "a").write_text("changed")

    assert (tmp_path / "written").read_text() == "x"
    assert not (tmp_path / "linked").is_symlink()
    assert (tmp_path / "folder" / "e").is_dir()
