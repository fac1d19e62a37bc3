"""The tasks that run inside the governor."""

import os
from pathlib import Path
from typing import Any

import pytest

from tests.governor.running import BLOB, FOLDER, Running, governed
from tests.governor.trees import BIG, SMALL_TREE, TREE, a_stored_tree, unpacked
from tests.governor.words import task_id

pytestmark = pytest.mark.whole


def test_concat_joins_small_and_large_blobs(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        small = tuple(governor.give(data) for data in (b"abc", b"", b"def"))
        assert await governor.outputs(governor.builtin("concat", None, small)) == [(6, b"abcdef")]
        assert await governor.outputs(governor.builtin("concat")) == [(0, b"")]
        big = governor.give(BIG)
        joined = governor.builtin("concat", None, (big, *small, big))
        assert await governor.outputs(joined) == [(2 * len(BIG) + 6, b"")]
        again = governor.builtin("concat", None, (joined + 2, small[0]))
        await governor.outputs(again)
        assert governor.read(again + 2) == BIG + b"abcdef" + BIG + b"abc"

    governed(tmp_path, scenario)


def test_concat_refuses_directories(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        folder = governor.give(SMALL_TREE, FOLDER)
        failure = await governor.failure(governor.builtin("concat", None, (folder,)))
        assert "one of the inputs is a directory" in failure

    governed(tmp_path, scenario)


def test_sleep_passes_its_input_on(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        blob, folder = governor.give(b"data"), governor.give(SMALL_TREE, FOLDER)
        one = governor.builtin("sleep", 0.01, (blob,))
        other = governor.builtin("sleep", 0, (folder,), (FOLDER,))
        assert await governor.outputs(one) == [(4, b"data")]
        await governor.outputs(other)
        assert governor.read(other + 2) == SMALL_TREE

    governed(tmp_path, scenario)


def test_a_stopped_sleep_ends(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        blob = governor.give(b"data")
        sleep = governor.builtin("sleep", 60, (blob,))
        await governor.until(lambda: task_id(sleep) in governor.server.started)
        governor.stop(sleep)
        # The only cpu is free again
        assert await governor.outputs(governor.builtin("sleep", 0, (blob,))) == [(4, b"data")]

    governed(tmp_path, scenario, cpus=1)


MISTAKES: list[tuple[str, Any, str]] = [
    ("nothing", None, "there is no task type 'buildin/nothing'"),
    ("sleep", "long", "sleep needs a number of seconds, not 'long'"),
    ("open", {}, "the configuration of a 'buildin/open' task needs 'path': str"),
    ("open", 7, "the configuration of a 'buildin/open' task needs 'path': str"),
    ("open", {"path": "relative"}, "the path 'relative' is not absolute"),
    ("open", {"path": "/\0"}, "'/\\x00' is not a path"),
    ("open", {"path": "/not/there"}, "there is no file '/not/there' on this governor"),
    ("open", {"path": "/usr"}, "'/usr' is no file; tasks.LoadDir reads directories"),
    ("open_dir", {"path": "/not/there"}, "there is no directory '/not/there'"),
    ("open_dir", {"path": "/dev/null"}, "'/dev/null' is no directory; tasks.Load reads files"),
    ("export", {"path": "/x"}, "a 'buildin/export' task has 0 inputs instead of 1"),
    ("run", {"args": [], "in_paths": [], "out_paths": []}, "args is empty"),
    ("run", {"args": ["x"], "in_paths": [1], "out_paths": []}, "not a list of tables"),
    ("run", {"args": ["x"], "in_paths": [{}], "out_paths": []}, "a file for each input"),
    ("run", {"args": ["x"], "in_paths": [], "out_paths": []}, "a file for each output"),
    ("run", {"args": ["x"], "in_paths": [], "out_paths": ["+out"], "env": [1]}, "env is not a"),
    ("run", {"args": ["x"], "in_paths": [], "out_paths": ["+out"], "env": {"A": 1}}, "'A' in env"),
]


@pytest.mark.parametrize(("method", "config", "complaint"), MISTAKES)
def test_a_wrong_configuration_fails_by_name(
    tmp_path: Path, method: str, config: Any, complaint: str
) -> None:
    async def scenario(governor: Running) -> None:
        assert complaint in await governor.failure(governor.builtin(method, config))

    governed(tmp_path, scenario)


def test_a_configuration_that_is_no_json_fails_by_name(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        failure = await governor.failure(governor.task("buildin/sleep", b"{"))
        assert "the configuration of a 'buildin/sleep' task is not JSON" in failure

    governed(tmp_path, scenario)


def test_files_and_directories_of_the_machine_are_read_and_written(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        small, big = tmp_path / "small", tmp_path / "big"
        small.write_text("small")
        big.write_bytes(BIG)
        opened = [governor.builtin("open", {"path": str(path)}) for path in (small, big)]
        assert [(await governor.outputs(one))[0][0] for one in opened] == [5, len(BIG)]
        tree = await a_stored_tree(governor, tmp_path)
        for name, given in (("one", opened[0] + 2), ("two", opened[1] + 2), ("three", tree)):
            config = {"path": str(tmp_path / "out" / name)}
            await governor.outputs(governor.builtin("export", config, (given,), ()))
        out = tmp_path / "out"
        assert (out / "one").read_text() == "small"
        assert (out / "two").read_bytes() == BIG
        assert (out / "three" / "deep" / "file").read_text() == "inner"
        assert os.access(out / "two", os.W_OK)
        config = {"path": str(out / "three")}
        again = governor.builtin("export", config, (tree,), ())
        assert "exists already" in await governor.failure(again)

    governed(tmp_path, scenario)


def test_a_file_that_is_written_takes_the_place_of_another_one_when_it_is_complete(
    tmp_path: Path,
) -> None:
    async def scenario(governor: Running) -> None:
        path = tmp_path / "out"
        path.write_text("old")
        opened = governor.builtin("open", {"path": str(path)})
        await governor.outputs(opened)
        with path.open() as reader:
            await governor.outputs(
                governor.builtin("export", {"path": str(path)}, (opened + 2,), ())
            )
            assert reader.read() == "old"
            assert path.stat().st_ino != os.fstat(reader.fileno()).st_ino

    governed(tmp_path, scenario)
    assert not list(tmp_path.rglob("*.rain-part"))


def test_directories_are_made_of_blobs_and_directories(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        base = await a_stored_tree(governor, tmp_path)
        small, blob, big = (
            governor.give(SMALL_TREE, FOLDER),
            governor.give(b"new"),
            governor.builtin("concat", None, (governor.give(BIG),)) + 2,
        )
        paths = [".", "sub/small", "deep/new", "top", "sub/base"]
        inputs = (base, small, blob, big, base)
        made = governor.builtin("make_directory", {"paths": paths}, inputs, (FOLDER,))
        await governor.outputs(made)
        found = unpacked(governor.read(made + 2))
        assert sorted(found) == [
            "deep/big",
            "deep/file",
            "deep/new",
            "file",
            "sub/base/deep/big",
            "sub/base/deep/file",
            "sub/base/file",
            "sub/small/deep/file",
            "sub/small/file",
            "top",
        ]
        assert (found["deep/new"], found["top"]) == (b"new", BIG)
        empty = governor.builtin("make_directory", {"paths": []}, (), (FOLDER,))
        await governor.outputs(empty)
        assert unpacked(governor.read(empty + 2)) == {}

    governed(tmp_path, scenario)


@pytest.mark.parametrize(
    ("paths", "complaint"),
    [
        (["../x", "y"], "the path '../x' does not stay inside of its directory"),
        (["/x", "y"], "the path '/x' does not stay inside of its directory"),
        (["x", "x"], "two inputs have the path 'x'"),
        (["x", "x/y"], "the path 'x/y' leads through a file"),
        (["", "y"], "only a directory can be the base of a directory, at ''"),
        (["x"], "has 2 inputs instead of 1"),
        ([1, "x"], "1 is not a path"),
    ],
)
def test_paths_of_a_directory_must_make_sense(
    tmp_path: Path, paths: list[Any], complaint: str
) -> None:
    async def scenario(governor: Running) -> None:
        inputs = (governor.give(b"1"), governor.give(b"2"))
        made = governor.builtin("make_directory", {"paths": paths}, inputs, (FOLDER,))
        assert complaint in await governor.failure(made)

    governed(tmp_path, scenario)


@pytest.mark.parametrize("is_stored", [False, True])
def test_parts_are_taken_out_of_directories(tmp_path: Path, is_stored: bool) -> None:
    async def scenario(governor: Running) -> None:
        if is_stored:
            tree = await a_stored_tree(governor, tmp_path)
        else:
            tree = governor.give(TREE, FOLDER)
        file = governor.builtin("slice_directory", {"path": "deep/file"}, (tree,))
        big = governor.builtin("slice_directory", {"path": "deep/big"}, (tree,))
        folder = governor.builtin("slice_directory", {"path": "deep/"}, (tree,), (FOLDER,))
        assert await governor.outputs(file) == [(5, b"inner")]
        assert (await governor.outputs(big))[0][0] == len(BIG)
        await governor.outputs(folder)
        found = unpacked(governor.read(folder + 2))
        assert sorted(found) == ["big", "file"]

    governed(tmp_path, scenario)


@pytest.mark.parametrize(
    ("path", "kind", "complaint"),
    [
        ("nothing", BLOB, "nothing is at the path 'nothing'"),
        ("../file", BLOB, "does not stay inside"),
        ("deep", BLOB, "must be a file, but a directory is at 'deep'"),
        ("file", FOLDER, "must be a directory, but a file is at 'file'"),
    ],
)
def test_parts_that_are_not_there_fail_by_name(
    tmp_path: Path, path: str, kind: int, complaint: str
) -> None:
    async def scenario(governor: Running) -> None:
        tree = governor.give(SMALL_TREE, FOLDER)
        part = governor.builtin("slice_directory", {"path": path}, (tree,), (kind,))
        assert complaint in await governor.failure(part)

    governed(tmp_path, scenario)


def test_a_link_does_not_lead_out_of_a_directory(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        (tmp_path / "secret").write_text("secret")
        source = tmp_path / "source"
        source.mkdir()
        (source / "link").symlink_to(tmp_path / "secret")
        opened = governor.builtin("open_dir", {"path": str(source)}, (), (FOLDER,))
        await governor.outputs(opened)
        part = governor.builtin("slice_directory", {"path": "link"}, (opened + 2,))
        assert "does not stay inside" in await governor.failure(part)

    governed(tmp_path, scenario)


def test_slices_are_taken_of_directories_only(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        part = governor.builtin("slice_directory", {"path": "x"}, (governor.give(b""),))
        assert "its input is a blob" in await governor.failure(part)

    governed(tmp_path, scenario)


def test_a_directory_that_is_no_archive_fails_the_task(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        tree = governor.give(b"no archive", FOLDER)
        part = governor.builtin("slice_directory", {"path": "x"}, (tree,))
        assert "is no directory: The directory cannot be unpacked" in await governor.failure(part)

    governed(tmp_path, scenario)
