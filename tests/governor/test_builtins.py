"""The tasks that run inside the governor."""

import errno
import io
import os
import socket
import tarfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rain.base.environment import Environment
from rain.base.runs import RunCause
from rain.base.thread_limits import THREAD_VARIABLES
from rain.common.fs import pack_tree
from rain.governor import programs
from rain.governor.environment_folder import LIMIT, EnvironmentFolder, own_environments
from rain.governor.store import MEMORY_LIMIT
from tests.governor.running import BLOB, FOLDER, Running, governed, is_alive
from tests.governor.words import task_id
from tests.support.waiting import until

pytestmark = pytest.mark.whole

BIG = b"x" * (MEMORY_LIMIT + 1)
TREE = pack_tree({"file": "text", "deep": {"file": b"inner", "big": BIG}})
SMALL_TREE = pack_tree({"file": "text", "deep": {"file": "inner"}})


def unpacked(packed: bytes) -> dict[str, bytes]:
    """The files of an archive."""
    found: dict[str, bytes] = {}
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        for member in archive:
            file = archive.extractfile(member) if member.isfile() else None
            if file is not None:
                found[member.name.removeprefix("./")] = file.read()
    return found


async def a_stored_tree(governor: Running, tmp_path: Path) -> int:
    """A directory that the governor has in its store."""
    source = tmp_path / "source"
    (source / "deep").mkdir(parents=True)
    (source / "file").write_text("text")
    (source / "deep" / "file").write_text("inner")
    (source / "deep" / "big").write_bytes(BIG)
    opened = governor.builtin("open_dir", {"path": str(source)}, (), (FOLDER,))
    await governor.outputs(opened)
    return opened + 2


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
    ("open_dir", {"path": "/not/there"}, "there is no directory '/not/there'"),
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


# External programs.


def program(*args: str, ins: tuple[Any, ...] = (), outs: tuple[str, ...] = ("+out",)) -> Any:
    in_paths = [{"path": path, "write": False} if isinstance(path, str) else path for path in ins]
    return {"args": list(args), "in_paths": in_paths, "out_paths": list(outs)}


def shell(line: str, ins: tuple[Any, ...] = (), outs: tuple[str, ...] = ("+out",)) -> Any:
    return program("/bin/sh", "-c", line, ins=ins, outs=outs)


def test_a_program_reads_its_input_and_files_and_writes_its_output_and_files(
    tmp_path: Path,
) -> None:
    async def scenario(governor: Running) -> None:
        inputs = tuple(
            governor.give(data, kind)
            for data, kind in ((b"typed", BLOB), (b"read", BLOB), (SMALL_TREE, FOLDER))
        )
        line = "cat; cat sub/in; cat tree/deep/file; echo -n made > out; mkdir d; touch d/x"
        config = shell(line, ("+in", "sub/in", "tree"), ("+out", "out", "d"))
        done = governor.builtin("run", config, inputs, (BLOB, BLOB, FOLDER))
        outputs = await governor.outputs(done)
        assert outputs[0] == (14, b"typedreadinner")
        assert outputs[1] == (4, b"made")
        assert unpacked(governor.read(done + 4)) == {"x": b""}
        assert list(governor.folder.runs.iterdir()) == []

    governed(tmp_path, scenario)


def test_stored_inputs_are_linked_or_copied_for_writing(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        tree = await a_stored_tree(governor, tmp_path)
        big = governor.builtin("slice_directory", {"path": "deep/big"}, (tree,)) + 2
        writable = {"path": "mine", "write": True}
        line = "test -L linked && test ! -L mine && echo -n more >> mine && wc -c < mine"
        done = governor.builtin("run", shell(line, ("linked", writable)), (big, big))
        ((_, data),) = await governor.outputs(done)
        assert int(data) == len(BIG) + 4
        assert governor.read(big) == BIG

    governed(tmp_path, scenario)


def test_large_outputs_of_a_program_are_stored(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        done = governor.builtin("run", shell(f"head -c {len(BIG)} /dev/zero"))
        assert await governor.outputs(done) == [(len(BIG), b"")]
        assert governor.read(done + 2) == bytes(len(BIG))

    governed(tmp_path, scenario)


def test_an_output_that_is_a_linked_input_is_copied(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        tree = await a_stored_tree(governor, tmp_path)
        done = governor.builtin(
            "run", program("true", ins=("tree",), outs=("tree",)), (tree,), (FOLDER,)
        )
        await governor.outputs(done)
        assert governor.read(done + 2) == governor.read(tree)

    governed(tmp_path, scenario)


@pytest.mark.parametrize(
    ("config", "complaint"),
    [
        (shell("echo -n wrong >&2; exit 3"), "ended with exit code 3\nIts stderr:\nwrong"),
        (shell("exit 4"), "ended with exit code 4; its stderr is empty"),
        (shell("kill -s TERM $$"), "was killed by SIGTERM"),
        (
            program("/not/there"),
            f"the program '/not/there' cannot be run on {socket.gethostname()}: No such file",
        ),
        (program("a\0b"), ": embedded null byte"),
        (program("true", outs=("made",)), "'blob' is missing: nothing is at"),
        (program("true", outs=("../made",)), "the path '../made' does not stay inside"),
        (shell("mkdir made", (), ("made",)), "must be a file, but a directory is at 'made'"),
    ],
)
def test_a_program_that_does_not_do_its_work_fails_by_name(
    tmp_path: Path, config: Any, complaint: str
) -> None:
    async def scenario(governor: Running) -> None:
        assert complaint in await governor.failure(governor.builtin("run", config))

    governed(tmp_path, scenario)


@pytest.mark.parametrize("shortage", [errno.EMFILE, errno.ENOSPC, errno.EDQUOT])
def test_a_task_whose_output_has_no_room_here_is_handed_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shortage: int
) -> None:
    def no_room(*_: object) -> None:
        raise OSError(shortage, os.strerror(shortage))

    async def scenario(governor: Running) -> None:
        monkeypatch.setattr("rain.governor.store._make_read_only", no_room)
        number = governor.builtin("run", shell("head -c 999999 /dev/zero"))
        assert os.strerror(shortage) in await governor.failure(number)
        assert governor.server.failed[task_id(number)].cause is RunCause.NOT_STARTED

    governed(tmp_path, scenario)


def test_a_task_without_a_thread_is_handed_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: object, **__: object) -> None:
        raise RuntimeError("can't start new thread")

    async def scenario(governor: Running) -> None:
        threadless = SimpleNamespace(to_thread=SimpleNamespace(run_sync=refuse))
        monkeypatch.setattr("rain.governor.sandbox.trio", threadless)
        number = governor.builtin("concat", None, (governor.give(BIG),))
        assert "can't start new thread" in await governor.failure(number)
        assert governor.server.failed[task_id(number)].cause is RunCause.NOT_STARTED
        monkeypatch.undo()

    governed(tmp_path, scenario)


@pytest.mark.parametrize("shortage", [errno.EMFILE, errno.EAGAIN, errno.ENOMEM, errno.ENOSPC])
def test_a_program_for_which_there_is_no_room_is_handed_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shortage: int
) -> None:
    def no_room(*_: object, **__: object) -> None:
        raise OSError(shortage, os.strerror(shortage))

    async def scenario(governor: Running) -> None:
        monkeypatch.setattr("rain.governor.programs.subprocess.Popen", no_room)
        number = governor.builtin("run", program("true"))
        assert os.strerror(shortage) in await governor.failure(number)
        assert governor.server.failed[task_id(number)].cause is RunCause.NOT_STARTED
        monkeypatch.undo()

    governed(tmp_path, scenario)


@pytest.mark.parametrize("way", ["stopped", "finished"])
def test_nothing_that_a_program_has_started_outlives_it(tmp_path: Path, way: str) -> None:
    async def scenario(governor: Running) -> None:
        pid = tmp_path / "pid"
        wait = "wait" if way == "stopped" else "true"
        line = f"sleep 60 & echo $! > {pid}.draft; mv {pid}.draft {pid}; {wait}"
        run = governor.builtin("run", shell(line))
        await until(pid.exists)
        child = int(pid.read_text())
        if way == "stopped":
            governor.stop(run)
        else:
            await governor.outputs(run)
        await until(lambda: not is_alive(child))

    governed(tmp_path, scenario)


def test_below_a_program_that_has_ended_by_itself_nothing_is_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched: list[int] = []
    monkeypatch.setattr(programs, "kill_tree", searched.append)

    async def scenario(governor: Running) -> None:
        config = {"args": ["true"], "in_paths": [], "out_paths": []}
        await governor.outputs(governor.builtin("run", config, (), ()))
        assert searched == []

    governed(tmp_path, scenario)


def test_a_program_that_takes_too_long_is_ended_with_what_it_has_started(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        pid = tmp_path / "pid"
        line = f"echo said; echo complained >&2; sleep 60 & echo $! > {pid}; wait"
        run = governor.builtin("run", shell(line), timeout=0.2)
        assert await governor.failure(run) == (
            "the task ran for longer than its timeout of 0.2 s, and was ended:\n"
            "the program '/bin/sh' was killed by SIGINT\n"
            "Its stderr:\ncomplained\nIts stdout:\nsaid"
        )
        assert governor.server.failed[task_id(run)].cause is RunCause.TIMEOUT
        await until(lambda: not is_alive(int(pid.read_text())))
        in_time = governor.builtin("run", shell("echo done"), timeout=60)
        assert await governor.outputs(in_time) == [(5, b"done\n")]

    governed(tmp_path, scenario)


def test_only_the_end_of_what_a_failing_program_has_printed_is_told(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        line = "head -c 1000000 /dev/zero | tr '\\0' x; echo the end; exit 1"
        failure = await governor.failure(governor.builtin("run", shell(line)))
        assert failure.endswith("xxxthe end")
        assert "(the last 16384 of 1000008 bytes)" in failure
        assert len(failure) < 20_000

    governed(tmp_path, scenario)


def test_the_environment_of_a_program_is_the_governors_with_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STAYS", "here")
    monkeypatch.setenv("GOES", "away")

    async def scenario(governor: Running) -> None:
        config = shell('echo -n "$STAYS $COMES ${GOES-gone}"')
        config["env"] = {"COMES": "new", "GOES": None}
        run = governor.builtin("run", config)
        assert await governor.outputs(run) == [(13, b"here new gone")]

    governed(tmp_path, scenario)


@pytest.mark.parametrize(
    ("governors", "own", "seen"),
    [
        ({}, {}, "1 1"),
        ({"OMP_NUM_THREADS": "7"}, {}, "7 none"),
        ({}, {"OPENBLAS_NUM_THREADS": "5"}, "none 5"),
        ({}, {"OMP_NUM_THREADS": None}, "none none"),
    ],
)
def test_a_program_has_as_many_threads_as_cpus_unless_somebody_has_decided(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    governors: dict[str, str],
    own: dict[str, str | None],
    seen: str,
) -> None:
    for name in THREAD_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name, value in governors.items():
        monkeypatch.setenv(name, value)

    async def scenario(governor: Running) -> None:
        config = shell('echo -n "${OMP_NUM_THREADS-none} ${OPENBLAS_NUM_THREADS-none}"')
        run = governor.builtin("run", {**config, "env": own})
        assert await governor.outputs(run) == [(len(seen), seen.encode())]

    governed(tmp_path, scenario)


def test_a_program_leaves_nothing_in_its_place_however_it_ends(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        deep = "mkdir -p a/b && touch a/b/c"
        await governor.outputs(governor.builtin("run", shell(deep)))
        await governor.outputs(governor.builtin("run", shell(f"{deep} && chmod 0 a/b a .")))
        await governor.failure(governor.builtin("run", shell(f"{deep} && exit 1")))
        await governor.failure(governor.builtin("run", program("/not/there")))
        await governor.failure(governor.builtin("run", shell("rm -r $PWD")))
        assert list(governor.folder.runs.iterdir()) == []

    governed(tmp_path, scenario)


def test_a_program_that_is_stopped_waits_no_longer_for_its_environment(tmp_path: Path) -> None:
    environment = Environment((), (), "1234")
    maker = EnvironmentFolder(own_environments(), environment)
    content = pack_tree({"file": "text"})

    async def scenario(governor: Running) -> None:
        files = governor.give(content, FOLDER)
        config = {"args": ["true"], "in_paths": [], "out_paths": []}
        text = environment.text
        waiting, other = (
            governor.builtin("run", config, (files,), (), environment=text) for _ in range(2)
        )
        await governor.until(lambda: task_id(waiting) in governor.server.started)
        # when
        governor.stop(waiting)
        # then: the only cpu is free, and the next one waits
        await governor.until(lambda: task_id(other) in governor.server.started)
        maker.begin(content, None)
        maker.finish(LIMIT)
        assert await governor.outputs(other) == []

    maker.open()
    try:
        assert maker.is_there() is False  # another governor makes it now
        governed(tmp_path, scenario, cpus=1)
    finally:
        maker.give_up()


def test_a_program_whose_inputs_lack_its_environment_fails(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        config = {"args": ["true"], "in_paths": [], "out_paths": []}
        text = Environment((), (), "5678").text
        failure = await governor.failure(governor.builtin("run", config, environment=text))
        assert "not among the inputs" in failure

    governed(tmp_path, scenario)
