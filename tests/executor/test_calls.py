"""What happens between a call and its answer, in a real process."""

import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from rain.base import executor_protocol as protocol
from rain.common.imports import Imports, with_imports
from tests.executor.child import PLAIN, Child, child, number
from tests.support.filesystems import another_filesystem
from tests.support.pipes import NamedPipe, named_pipe


@pytest.fixture
def go(tmp_path: Path) -> Generator[NamedPipe]:
    """Where a task waits until it is told to go on."""
    with named_pipe(tmp_path / "go") as pipe:
        yield pipe


@pytest.fixture
def running(tmp_path: Path) -> Generator[NamedPipe]:
    """Where a task says that it runs."""
    with named_pipe(tmp_path / "running") as pipe:
        yield pipe


def test_a_function_gets_its_arguments_and_returns_a_value(executor: Child) -> None:
    def add(ctx: Any, a: int, b: int) -> int:
        return a + b

    assert executor.value(add, 2, b=3) == 5


def test_an_answer_tells_the_duration(executor: Child) -> None:
    answer = executor.call(lambda ctx: time.sleep(0.05))
    assert 0.05 <= answer[1] < 5


def test_the_function_is_the_same_object_in_all_calls(executor: Child) -> None:
    def count(ctx: Any) -> int:
        ctx.function.count = getattr(ctx.function, "count", 0) + 1
        made: int = ctx.function.count
        return made

    function_id = executor.remember(count)
    assert [executor.value(function_id) for _ in range(3)] == [1, 2, 3]


def test_a_dropped_function_is_forgotten_and_can_be_told_again(executor: Child) -> None:
    function_id = executor.remember(lambda ctx: 1)
    assert executor.value(function_id) == 1
    executor.say(protocol.DROP, [function_id], [])
    executor.functions -= 1
    assert executor.remember(lambda ctx: 2) == function_id
    assert executor.value(function_id) == 2


def test_kinds_of_a_forgotten_session_can_be_told_again(executor: Child) -> None:
    executor.say(protocol.DROP, [], [5])
    executor.tell_kinds()
    assert executor.value(lambda ctx: 1) == 1


def test_a_failing_function_gives_its_whole_traceback_and_nothing_of_ours(
    executor: Child,
) -> None:
    def inner() -> None:
        raise ValueError("it went wrong")

    def outer(ctx: Any) -> None:
        inner()

    text = executor.failure(outer)
    assert text.startswith("Traceback (most recent call last):")
    assert "in outer" in text
    assert text.endswith("ValueError: it went wrong\n")
    assert "rain/executor" not in text
    # And the executor goes on
    assert executor.value(lambda ctx: 1) == 1


def test_leaving_the_interpreter_fails_the_task_only(executor: Child) -> None:
    assert executor.failure(lambda ctx: sys.exit(3)).endswith("SystemExit: 3\n")
    assert executor.value(lambda ctx: 1) == 1


@pytest.mark.parametrize(
    ("leave", "status"), [(lambda: None, 0), (sys.exit, 0), (lambda: sys.exit(3), 3), (abs, 1)]
)
def test_a_fork_that_comes_out_of_the_function_ends_and_answers_nothing(
    executor: Child, leave: Callable[[], object], status: int
) -> None:
    def fork(ctx: Any) -> tuple[str, int]:
        if not (child := os.fork()):
            leave()
            return "child", 0
        return "parent", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    assert executor.value(fork) == ("parent", status)
    assert executor.value(lambda ctx: "next") == "next"


def test_a_function_that_cannot_be_unpickled_fails_its_task(executor: Child) -> None:
    row = [number(10), number(PLAIN), "", "", 3, b"no pickle"]
    kind, call = executor.row(number(10))
    call[3] = [row]
    executor.post(1)
    executor.say(protocol.CALLS, 1, [kind], [], [], [call], None)
    assert "UnpicklingError" in executor.answer()[2]


def test_a_function_that_another_python_has_written_says_so_if_it_cannot_be_read(
    executor: Child,
) -> None:
    data = with_imports(b"no pickle", Imports("key", (), python="2.7"))
    row = [number(10), number(PLAIN), "", "", len(data), data]
    kind, call = executor.row(number(10))
    call[3] = [row]
    executor.post(1)
    executor.say(protocol.CALLS, 1, [kind], [], [], [call], None)
    assert "The program runs Python 2.7, and this governor" in executor.answer()[2]


def test_calls_are_answered_in_their_order(executor: Child) -> None:
    function_id = executor.remember(lambda ctx, value: value)
    kind, first = executor.row(function_id, 0)
    rows = [[first[0] + i, *first[1:]] for i in range(300)]
    executor.post(300)
    executor.say(protocol.CALLS, 1, [kind], [], [], rows, None)
    assert [executor.answer()[0] for _ in rows] == [row[0] for row in rows]


def test_an_executor_without_other_calls_asks_at_once_to_be_looked_at(executor: Child) -> None:
    function_id = executor.remember(lambda ctx, value: value)
    for _ in range(20):
        assert executor.value(function_id, 5) == 5
        assert executor.hear() == [protocol.LOOK]


def test_calls_whose_tokens_were_taken_back_are_not_run(
    executor: Child, tmp_path: Path, running: NamedPipe, go: NamedPipe
) -> None:
    # Given a call that runs, and two that wait
    def tell_and_wait(ctx: Any, folder: str, name: str) -> None:
        Path(folder, "running").write_text(f"{name}\n")
        if name == "one":
            with Path(folder, "go").open() as pipe:
                pipe.readline()

    function_id = executor.remember(tell_and_wait)
    calls = [executor.row(function_id, str(tmp_path), name) for name in ("one", "two", "three")]
    executor.post(3)
    kinds, rows = [kind for kind, _ in calls], [row for _, row in calls]
    executor.say(protocol.CALLS, 1, kinds, [], [], rows, None)
    assert running.hear() == "one"
    # When they are taken back, and another one comes in a new epoch
    assert executor.take_back() == 2
    kind, row = executor.row(function_id, str(tmp_path), "four")
    executor.post(1, epoch=2)
    executor.say(protocol.CALLS, 2, [kind], [], [], [row], None)
    go.say()
    # Then only the first and the last one are run
    assert [executor.answer()[0], executor.answer()[0]] == [rows[0][0], row[0]]
    assert running.hear() == "four"


def test_tokens_tell_which_calls_a_dead_executor_had_started(executor: Child) -> None:
    # Given three calls, of which the second one ends the process
    function_id = executor.remember(lambda ctx, end: os._exit(3) if end else None)
    calls = [executor.row(function_id, end) for end in (False, True, False)]
    executor.post(3)
    kinds, rows = [kind for kind, _ in calls], [row for _, row in calls]
    executor.say(protocol.CALLS, 1, kinds, [], [], rows, None)
    # When it has ended
    assert executor.process.wait(20) == 3
    # Then one was answered, one was not started, and so one was running
    assert executor.answer()[0] == rows[0][0]
    assert executor.take_back() == 1


def test_an_answer_is_there_before_anybody_asks(executor: Child, go: NamedPipe) -> None:
    # Given a short call and a long one behind it
    def wait(ctx: Any, go: str) -> None:
        with Path(go).open() as pipe:
            pipe.readline()

    short, long = executor.remember(lambda ctx: 1), executor.remember(wait)
    calls = [executor.row(short), executor.row(long, go.path)]
    executor.post(2)
    kinds, rows = [kind for kind, _ in calls], [row for _, row in calls]
    executor.say(protocol.CALLS, 1, kinds, [], [], rows, None)
    # Then the short one is answered while the long one runs
    assert executor.answer()[0] == rows[0][0]
    go.say()
    assert executor.answer()[0] == rows[1][0]


def test_the_governor_is_asked_to_look_when_there_is_nothing_to_do(executor: Child) -> None:
    executor.call(lambda ctx: 1)
    assert executor.hear() == [protocol.LOOK]


def test_an_answer_larger_than_the_pipe_arrives(executor: Child) -> None:
    # Two outputs, each just small enough not to become a file
    size = protocol.INLINE_RESULT - 100
    outputs = executor.call(lambda ctx, n: (b"a" * n, b"b" * n), size, outputs=(PLAIN, PLAIN))[2]
    assert [len(output) for output in outputs] == [size, size]


def test_a_text_has_the_same_hash_in_all_executors(
    executor: Child, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    monkeypatch.setenv("PYTHONHASHSEED", "random")
    with child(tmp_path / "other") as other:
        assert executor.value(lambda ctx: hash("word")) == other.value(lambda ctx: hash("word"))


def test_a_hash_seed_of_the_governor_is_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PYTHONHASHSEED", "7")
    with child(tmp_path) as running:
        assert running.value(lambda ctx: os.environ["PYTHONHASHSEED"]) == "7"


def test_every_task_starts_in_an_empty_folder_of_its_own(executor: Child) -> None:
    def mess(ctx: Any) -> list[str]:
        found = [path.name for path in Path().iterdir()]
        Path("file").touch()
        Path("folder/deep").mkdir(parents=True)
        Path("link").symlink_to("folder")
        os.chdir("/")
        return found

    assert executor.value(mess) == []
    assert executor.value(mess) == []
    assert executor.value(lambda ctx: str(Path.cwd())) == str(executor.folder / "task")


def test_a_task_may_remove_its_own_folder(executor: Child) -> None:
    def remove(ctx: Any) -> None:
        shutil.rmtree(Path.cwd())

    executor.call(remove)
    assert executor.value(lambda ctx: Path("file").write_text("x")) == 1


def test_prints_go_to_the_log_at_once_and_leave_it_with_the_answer(executor: Child) -> None:
    log = str(executor.places.log(7, "out"))
    said = executor.value(lambda ctx: sys.stdout.write("hello\n") and Path(log).read_text())
    assert said == "hello\n"
    assert executor.log("out") == ""


def test_an_executor_ends_when_its_governor_has_closed_the_socket(executor: Child) -> None:
    executor.socket.shutdown(2)
    assert executor.process.wait(20) == 0


def test_descriptors_do_not_leak_into_programs_that_tasks_start(executor: Child) -> None:
    def open_files(ctx: Any) -> list[str]:
        listed = subprocess.run(
            ["ls", "-l", "/proc/self/fd"], capture_output=True, text=True, check=True
        )
        return [line for line in listed.stdout.splitlines() if "socket" in line]

    assert executor.value(open_files) == []


def test_an_executor_dies_with_the_process_that_started_it(tmp_path: Path) -> None:
    # Given a process that starts an executor
    program = (
        "import sys, time; from pathlib import Path\n"
        "from tests.executor.child import Child\n"
        "running = Child(Path(sys.argv[1])); running.hear()\n"
        "print(running.process.pid, flush=True); time.sleep(60)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    with parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        descriptor = os.pidfd_open(pid)
        # When that is killed
        parent.send_signal(signal.SIGKILL)
        # Then the executor ends
        ended = select.select([descriptor], [], [], 20)[0]
        os.close(descriptor)
        assert ended


def test_started_by_hand_it_says_who_starts_it() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "rain.executor"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.startswith("rain.executor is started by a governor")


def test_no_heavy_library_is_loaded_before_a_task_needs_it(executor: Child) -> None:
    heavy = ("attr", "numpy", "asyncio", "trio", "cloudpickle.nothing", "capnp", "rain.client")
    loaded = executor.value(lambda ctx: [name for name in heavy if name in sys.modules])
    assert loaded == []


def test_what_lies_on_another_filesystem_can_be_staged(executor: Child) -> None:
    with another_filesystem() as elsewhere:

        def made(ctx: Any, folder: str) -> Any:
            Path("there").symlink_to(folder)
            Path("there/file").write_text("made")
            return ctx.stage_file("there/file")

        (told,) = executor.call(made, str(elsewhere), outputs=(PLAIN,))[2]
        assert not list(elsewhere.iterdir())
    assert Path(told[1]).read_text() == "made"
