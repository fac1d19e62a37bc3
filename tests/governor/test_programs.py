"""Programs that a governor runs: their files, how they end, and what is left of them."""

import errno
import os
import socket
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rain.base.environment import Environment
from rain.base.runs import RunCause
from rain.base.thread_limits import THREAD_VARIABLES
from rain.common.fs import pack_tree
from rain.governor.environments.folder import LIMIT, EnvironmentFolder, own_environments
from rain.governor.programs import run as programs
from rain.governor.programs.not_started import why_not_started
from tests.governor.running import BLOB, FOLDER, Running, governed, is_alive
from tests.governor.trees import BIG, SMALL_TREE, a_stored_tree, unpacked
from tests.governor.words import task_id
from tests.support.waiting import until

pytestmark = pytest.mark.whole


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


@pytest.mark.parametrize(
    ("content", "mode", "complaint"),
    [
        ("#!/usr/bin/pythn -u\n", 0o755, "names the interpreter '/usr/bin/pythn', which is not"),
        ("#!/bin/sh\r\ndate\r\n", 0o755, r"names the interpreter '/bin/sh\r', which is not there"),
        ("#!/bin/sh\n", 0o644, "Permission denied: it is not executable (chmod +x)"),
        ("date\n", 0o755, "Exec format error: a script needs a first line such as '#!/bin/sh'"),
    ],
)
def test_a_script_that_cannot_be_started_fails_with_what_is_wrong_with_it(
    tmp_path: Path, content: str, mode: int, complaint: str
) -> None:
    script = tmp_path / "script"
    script.write_bytes(content.encode())
    script.chmod(mode)

    async def scenario(governor: Running) -> None:
        assert complaint in await governor.failure(governor.builtin("run", program(str(script))))

    governed(tmp_path, scenario)


def test_a_script_is_looked_at_where_the_variables_of_its_task_lead(
    tmp_path: Path,
) -> None:
    script = tmp_path / "count-words"
    script.write_text("#!/not/there\n")
    script.chmod(0o755)
    error = FileNotFoundError(errno.ENOENT, "No such file or directory")
    assert "'/not/there'" in why_not_started("count-words", Path("/"), str(tmp_path), error)
    assert why_not_started("count-words", Path("/"), "/bin", error) == error.strerror
    assert "'/not/there'" in why_not_started("./count-words", tmp_path, "/bin", error)


@pytest.mark.parametrize("shortage", [errno.EMFILE, errno.ENOSPC, errno.EDQUOT])
def test_a_task_whose_output_has_no_room_here_is_handed_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shortage: int
) -> None:
    def no_room(*_: object) -> None:
        raise OSError(shortage, os.strerror(shortage))

    async def scenario(governor: Running) -> None:
        monkeypatch.setattr("rain.governor.storage.store.make_read_only", no_room)
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
        monkeypatch.setattr("rain.governor.programs.sandbox.trio", threadless)
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
        monkeypatch.setattr("rain.governor.programs.run.subprocess.Popen", no_room)
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
