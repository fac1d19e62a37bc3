"""A governor with real executors, from orders to updates."""

import errno
import gc
import os
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from rain.base.ids import SessionId, session_of
from rain.base.runs import RunCause
from rain.base.wire import INLINE_LIMIT
from rain.base.wire.orders import Orders
from rain.base.wire.printed import Watch
from rain.governor.core.effects import StartExecutor
from rain.governor.core.reactor_settings import PYTHON
from rain.governor.storage.store import MEMORY_LIMIT
from rain.governor.uplink import Lost
from tests.governor.running import (
    BLOB,
    FOLDER,
    Running,
    governed,
    is_alive,
)
from tests.governor.words import object_id, task_id
from tests.support.pipes import NamedPipe, named_pipe
from tests.support.waiting import until

pytestmark = pytest.mark.whole


def test_functions_run_and_their_small_results_travel_with_the_news(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        add = governor.function(lambda ctx, a, b: a + b)
        calls = [governor.call(add, 1, number) for number in range(200)]
        assert [await governor.value(call) for call in calls] == list(range(1, 201))
        assert len(governor.executors) == 2

    governed(tmp_path, scenario)


def test_large_results_are_stored_and_read_in_pieces(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        make = governor.function(lambda ctx, size: b"x" * size)
        sizes = (INLINE_LIMIT, INLINE_LIMIT + 1, MEMORY_LIMIT * 2)
        calls = [governor.call(make, size, outputs=(BLOB,)) for size in sizes]
        told = [(await governor.outputs(call))[0] for call in calls]
        assert [(size, len(data)) for size, data in told] == [
            (sizes[0], sizes[0]),
            (sizes[1], 0),
            (sizes[2], 0),
        ]
        for call, size in zip(calls, sizes, strict=True):
            assert governor.read(call + 2) == b"x" * size
        # And they go with their objects
        governor.order(Orders(drops=[object_id(call + 2) for call in calls]))
        await until(lambda: not list(governor.folder.data.iterdir()))

    governed(tmp_path, scenario)


def test_results_are_inputs_of_the_next_task_wherever_they_are(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        make = governor.function(lambda ctx, size: b"x" * size)
        calls = [governor.call(make, size, outputs=(BLOB,)) for size in (10, MEMORY_LIMIT * 2)]
        inputs = tuple(call + 2 for call in calls)
        joined = governor.builtin("concat", None, inputs)
        assert (await governor.outputs(joined))[0][0] == 10 + MEMORY_LIMIT * 2

    governed(tmp_path, scenario)


def test_a_failing_function_tells_its_traceback(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        def fail(ctx: Any) -> None:
            raise ValueError("it went wrong")

        message = await governor.failure(governor.call(governor.function(fail)))
        assert "in fail" in message
        assert message.endswith("ValueError: it went wrong\n")

    governed(tmp_path, scenario)


def test_the_death_of_an_executor_fails_one_task_and_tells_its_last_words(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        def work(ctx: Any, number: int) -> int:
            if number == 50:
                sys.stdout.write("to stdout")
                sys.stderr.write("x" * 5000 + "to stderr")
                os._exit(7)
            return number

        function = governor.function(work)
        calls = [governor.call(function, number) for number in range(100)]
        message = await governor.failure(calls[50])
        assert message.startswith("Lost connection to the executor")
        assert "ended with exit code 7" in message
        assert "stdout:\nto stdout" in message
        assert message.endswith("xto stderr")
        assert len(message) < 4096 + 500
        others = [call for call in calls if call != calls[50]]
        values = [await governor.value(call) for call in others]
        assert values == [number for number in range(100) if number != 50]
        assert list(governor.server.failed) == [task_id(calls[50])]

    governed(tmp_path, scenario, cpus=1)


def test_a_signal_is_told_by_its_name(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        call = governor.call(governor.function(lambda ctx: os.abort()))
        assert "was killed by SIGABRT" in await governor.failure(call)

    governed(tmp_path, scenario)


def test_what_runs_tells_what_it_has_printed_so_far(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        def work(ctx: Any, go_on: str) -> str:
            sys.stdout.write("so far")
            subprocess.run(["/bin/sh", "-c", f"echo child >&2; head -n1 {go_on}"], check=True)
            return "done"

        def printed(task: int) -> str:
            return governor.service.running(task_id(task)).printed

        with named_pipe(tmp_path / "call") as call, named_pipe(tmp_path / "program") as program:
            calling = governor.call(governor.function(work), str(call.path))
            shell = f"echo so far; head -n1 {program.path}"
            running = governor.builtin("run", program_of("/bin/sh", "-c", shell), outputs=())
            await until(lambda: printed(calling).endswith("child\n"))
            assert printed(calling) == "so far\n[stderr]\nchild\n"
            await until(lambda: printed(running))
            assert printed(running) == "so far\n"
            call.say()
            program.say()
            await governor.value(calling)
            await governor.outputs(running)
        assert printed(calling) == ""
        assert printed(running) == ""

    governed(tmp_path, scenario)


def test_what_is_watched_is_told_while_it_runs_and_before_it_ends(tmp_path: Path) -> None:
    def texts(governor: Running, number: int) -> str:
        task = task_id(number)
        told = [one.text for _, one in governor.server.printed_lines if one.task == task]
        return "".join(told)

    async def scenario(governor: Running) -> None:
        def work(ctx: Any, go_on: str) -> None:
            sys.stdout.write("first\n")
            subprocess.run(["/usr/bin/head", "-n1", go_on], check=True, stdout=sys.stderr)
            sys.stdout.write("last")

        def say(ctx: Any, word: str) -> None:
            sys.stdout.write(word)

        function = governor.function(say)
        await governor.value(governor.call(function, "nobody watches"))
        governor.service.watch(1, Watch(frozenset([SessionId(1)])))
        with named_pipe(tmp_path / "call") as call, named_pipe(tmp_path / "program") as program:
            calling = governor.call(governor.function(work), str(call.path))
            shell = f"echo first; head -n1 {program.path}; printf last"
            running = governor.builtin("run", program_of("/bin/sh", "-c", shell), outputs=())
            await governor.until(lambda: texts(governor, calling) == "first\n")
            await governor.until(lambda: texts(governor, running) == "first\n")
            call.say()
            program.say()
            await governor.value(calling)
            assert texts(governor, calling) == "first\nlastgo\n"
            await governor.outputs(running)
            assert texts(governor, running) == "first\ngo\nlast"
        governor.service.watch(1, None)
        told = len(governor.server.printed_lines)
        await governor.value(governor.call(function, "nobody watches any more"))
        assert len(governor.server.printed_lines) == told

    governed(tmp_path, scenario)


def program_of(*args: str) -> dict[str, Any]:
    """The config of a program that reads and makes nothing."""
    return {"args": list(args), "in_paths": [], "out_paths": []}


def test_an_executor_that_cannot_start_fails_its_task_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given an environment in which Python itself does not start
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "sitecustomize.py").write_text("import os; os.write(2, b'no way'); os._exit(9)")
    monkeypatch.setenv("PYTHONPATH", str(broken))

    async def scenario(governor: Running) -> None:
        message = await governor.failure(governor.call(governor.function(lambda ctx: 1)))
        assert message.startswith("The executor unexpectedly terminated")
        assert "exit code 9" in message
        assert message.endswith("stderr:\nno way")

    governed(tmp_path, scenario)


def test_a_machine_that_allows_no_more_processes_fails_the_task_by_name(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        (governor.folder.executors / "1").mkdir()
        message = await governor.failure(governor.call(governor.function(lambda ctx: 1)))
        assert "executor 1 cannot be started: File exists" in message

    governed(tmp_path, scenario)


def test_an_executor_whose_end_nothing_would_tell_is_ended_and_its_task_handed_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pidfd_open, ended = os.pidfd_open, list[int]()

    def open_later(pid: int, flags: int = 0) -> int:
        if ended:
            return pidfd_open(pid, flags)
        ended.append(pid)
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    async def scenario(governor: Running) -> None:
        monkeypatch.setattr(os, "pidfd_open", open_later)
        function = governor.function(lambda ctx: 1)
        number = governor.call(function)
        assert "cannot be started: Too many open files" in await governor.failure(number)
        assert governor.server.failed[task_id(number)].cause is RunCause.NOT_STARTED
        assert not is_alive(ended[0])
        assert await governor.value(governor.call(function)) == 1

    governed(tmp_path, scenario)


def test_a_governor_whose_work_folder_was_removed_hands_its_tasks_back(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        away = governor.folder.executors.rename(tmp_path / "away")
        number = governor.call(governor.function(lambda ctx: 1))
        message = await governor.failure(number)
        assert f"cannot be started: the work folder {governor.folder.executors} was" in message
        assert governor.server.failed[task_id(number)].cause is RunCause.NOT_STARTED
        away.rename(governor.folder.executors)

    governed(tmp_path, scenario)


def test_all_that_wait_for_a_task_hear_of_the_first_one(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        with trio.fail_after(30):
            async with trio.open_nursery() as waiting:
                for _ in range(2):
                    waiting.start_soon(governor.service.busy)
                await wait_all_tasks_blocked()
                governor.call(governor.function(lambda ctx: 1))

    governed(tmp_path, scenario)


def test_a_folder_of_logs_that_was_removed_is_made_again(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        (tmp_path / "logs").rmdir()
        assert await governor.value(governor.call(governor.function(lambda ctx: 1))) == 1
        assert list((tmp_path / "logs").iterdir())

    governed(tmp_path, scenario)


def test_stopping_a_task_ends_all_that_it_has_started(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        function = governor.function(start_and_wait)
        call = governor.call(function, str(tmp_path / "pid"))
        await until((tmp_path / "pid").exists)
        child = int((tmp_path / "pid").read_text())
        assert is_alive(child)
        governor.stop(call)
        await until(lambda: not is_alive(child))
        # And the executor is replaced
        assert await governor.value(governor.call(governor.function(lambda ctx: 1))) == 1
        assert not governor.server.failed

    governed(tmp_path, scenario)


def start_and_wait(ctx: Any, path: str) -> None:
    child = subprocess.Popen(["sleep", "60"])
    draft = Path(path + ".draft")
    draft.write_text(str(child.pid))
    draft.rename(path)
    child.wait()


@pytest.fixture
def go(tmp_path: Path) -> Generator[NamedPipe]:
    """Where a task waits until it is told to go on."""
    with named_pipe(tmp_path / "go") as pipe:
        yield pipe


def test_what_waits_behind_a_task_that_hangs_runs_elsewhere(tmp_path: Path, go: NamedPipe) -> None:
    async def scenario(governor: Running) -> None:
        def work(ctx: Any, path: str) -> bool:
            if path:
                with Path(path).open() as pipe:
                    pipe.readline()
            return True

        function = governor.function(work)
        for _ in range(4):  # now both executors know that it is quick
            await governor.value(governor.call(function, ""))
        hanging = governor.call(function, go.path)
        others = [governor.call(function, "") for _ in range(100)]
        for other in others:
            await governor.value(other)
        assert task_id(hanging) not in governor.server.finished
        go.say()
        assert await governor.value(hanging)

    governed(tmp_path, scenario)


def test_an_answer_does_not_wait_for_a_long_task_behind_it(tmp_path: Path, go: NamedPipe) -> None:
    async def scenario(governor: Running) -> None:
        def work(ctx: Any, path: str) -> bool:
            if path:
                with Path(path).open() as pipe:
                    pipe.readline()
            return True

        function = governor.function(work)
        await governor.value(governor.call(function, ""))
        quick = governor.call(function, "")
        hanging = governor.call(function, go.path)
        assert await governor.value(quick)
        assert task_id(hanging) not in governor.server.finished
        go.say()
        assert await governor.value(hanging)

    governed(tmp_path, scenario, cpus=1)


def test_directories_go_through_functions(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        def make(ctx: Any) -> Any:
            Path("made/deep").mkdir(parents=True)
            Path("made/deep/file").write_text("text")
            return ctx.stage_directory("made")

        made = governor.call(governor.function(make), outputs=(FOLDER,))
        await governor.outputs(made)
        sliced = governor.builtin("slice_directory", {"path": "deep/file"}, (made + 2,))
        assert (await governor.outputs(sliced))[0] == (4, b"text")

    governed(tmp_path, scenario)


def test_a_result_that_is_not_where_it_was_said_to_be_fails_the_task(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        def make(ctx: Any) -> Any:
            Path("made").touch()
            staged = ctx.stage_file("made")
            staged.path.unlink()
            return staged

        call = governor.call(governor.function(make), outputs=(BLOB,))
        assert "cannot store" in await governor.failure(call)

    governed(tmp_path, scenario)


def test_an_executor_that_answers_nonsense_is_replaced(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        def babble(ctx: Any) -> None:
            (desk,) = (found for found in gc.get_objects() if type(found).__name__ == "Desk")
            desk._socket.sendall(b"\x03\0\0\0\xc1\xc1\xc1")
            time.sleep(60)

        call = governor.call(governor.function(babble))
        assert "which is no message" in await governor.failure(call)
        assert await governor.value(governor.call(governor.function(lambda ctx: 1))) == 1

    governed(tmp_path, scenario)


def test_a_forgotten_session_is_over_at_once(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        call = governor.call(governor.function(start_and_wait), str(tmp_path / "pid"))
        governor.builtin("sleep", 60.0, (governor.give(b""),))
        await until((tmp_path / "pid").exists)
        child = int((tmp_path / "pid").read_text())
        governor.order(Orders(forget_sessions=[session_of(task_id(call))]))
        await until(lambda: not is_alive(child))
        report = governor.service.report()
        assert (report.tasks, report.objects) == ((), ())

    governed(tmp_path, scenario)


def test_orders_that_make_no_sense_end_a_governor_whose_connection_was_cut_meanwhile(
    tmp_path: Path,
) -> None:
    async def scenario(governor: Running) -> None:
        # given: its server comes back, and the connection breaks behind orders with a gap
        governor.server.returns = True
        governor.order(Orders(number=2))
        governor.service.left("cut")
        # when: it looks at what it has, to resume with that
        governor.service.resumes()
        # then: it does not resume, though nobody tells it of the end of that connection again
        await governor.uplink.ended()
        assert isinstance(governor.uplink.end, Lost)
        assert "orders 2 has come after the batch of orders 0" in governor.uplink.end.reason

    governed(tmp_path, scenario)


def test_a_governor_that_ends_starts_no_executor_when_its_server_comes_back(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        # given: it ends, and its executor was killed under a call
        governor.call(governor.function(lambda ctx: time.sleep(60)))
        await governor.until(lambda: governor.server.started)
        (pid,) = governor.executors.pids().values()
        governor.service.close()
        governor.executors.kill_all()
        await until(lambda: not is_alive(pid))
        await until(lambda: not len(governor.executors))
        # when: it is about to resume, and another executor is to start whose environment is there
        governor.service.resumes()
        governor.executors.carry(StartExecutor(99, PYTHON))
        # then: nothing has started that it would wait for
        assert len(governor.executors) == 0

    governed(tmp_path, scenario)
