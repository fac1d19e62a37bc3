"""What executors of other languages print: it belongs to the task that they run."""

from pathlib import Path

import pytest

from rain.base.ids import SessionId
from rain.base.wire.printed import Watch
from rain.common.printed import CUT_FROM, HEAD, TAIL
from tests.governor.foreign import wild
from tests.governor.running import Running
from tests.governor.words import task_id
from tests.support.pipes import named_pipe
from tests.support.waiting import until

pytestmark = pytest.mark.whole

SAY = (
    "def say(text, stream=sys.stdout):",
    "    stream.write(text)",
    "    stream.flush()",
)


def test_each_task_has_what_was_printed_since_the_result_before_its_own(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        logs: list[str] = []
        for _ in range(3):
            call = governor.task("wild/x", b"")
            await governor.outputs(call)
            logs.append(governor.server.logs.get(task_id(call), ""))
        assert logs == ["awake\nfirst\n[stderr]\nbeware\n", "second\nof C\n", ""]

    wild(
        tmp_path,
        scenario,
        *SAY,
        "say('awake\\n')",
        "register()",
        "fields = call()",
        "say('first\\n')",
        "say('beware\\n', sys.stderr)",
        "done(fields, ['memory', b''])",
        "fields = call()",
        "say('second\\n')",
        "os.system('echo of C')",
        "done(fields, ['memory', b''])",
        "done(call(), ['memory', b''])",
        "stay()",
    )


def test_the_error_of_a_task_shows_the_end_of_what_was_printed(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        failed = governor.task("wild/x", b"")
        assert (
            await governor.failure(failed) == "wrong\nIts stdout:\nat first\nIts stderr:\ntrouble"
        )
        assert governor.server.logs[task_id(failed)] == "at first\n[stderr]\ntrouble\n"
        missing = governor.task("wild/y", b"")
        message = await governor.failure(missing)
        assert message == "the task made 0 outputs instead of 1\nIts stdout:\nnothing made"

    wild(
        tmp_path,
        scenario,
        *SAY,
        "register()",
        "fields = call()",
        "say('at first\\n')",
        "say('trouble\\n', sys.stderr)",
        "failed(fields, 'wrong\\n')",
        "fields = call()",
        "say('nothing made\\n')",
        "done(fields)",
        "stay()",
    )


@pytest.mark.parametrize(
    "end", ["sys.exit(3)", "send('hello', {})", "done(fields, ['path', '/etc/passwd'])"]
)
def test_a_process_that_dies_or_is_killed_leaves_its_words_to_its_task(
    tmp_path: Path, end: str
) -> None:
    async def scenario(governor: Running) -> None:
        call = governor.task("wild/x", b"")
        assert "Last bytes of its stdout:\nlast words\n" in await governor.failure(call)
        assert governor.server.logs[task_id(call)] == "last words\n"
        after = governor.task("wild/x", b"")
        await governor.outputs(after)
        assert task_id(after) not in governor.server.logs

    wild(
        tmp_path,
        scenario,
        *SAY,
        "register()",
        "fields = call()",
        "if ME > 1: done(fields, ['memory', b'']); stay()",
        "say('last words\\n')",
        end,
        "stay()",
    )


def test_what_a_task_prints_is_told_while_it_runs(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        def told() -> str:
            return "".join(lines.text for _, lines in governor.server.printed_lines)

        with named_pipe(tmp_path / "go") as go:
            governor.service.watch(1, Watch(frozenset([SessionId(1)])))
            await governor.outputs(governor.task("wild/before", b""))
            call = governor.task("wild/x", b"")
            await until(lambda: governor.service.running(task_id(call)).printed == "so far\n")
            await until(lambda: told() == "before\nso far\n")
            go.say()
            await governor.outputs(call)
            assert told() == "before\nso far\nlater\n"
            assert governor.service.running(task_id(call)).printed == ""

    wild(
        tmp_path,
        scenario,
        *SAY,
        "register()",
        "fields = call()",
        "say('before\\n')",
        "done(fields, ['memory', b''])",
        "fields = call()",
        "say('so far\\n')",
        f"open({str(tmp_path / 'go')!r}).readline()",
        "say('later\\n')",
        "done(fields, ['memory', b''])",
        "stay()",
    )


def test_the_start_and_the_end_of_a_long_output_are_kept_and_the_next_task_begins_anew(
    tmp_path: Path,
) -> None:
    size = CUT_FROM + 10_000

    async def scenario(governor: Running) -> None:
        call = governor.task("wild/x", b"")
        await governor.outputs(call)
        left_out = f"\n[... {size - HEAD - TAIL} bytes are left out here ...]\n"
        assert governor.server.logs[task_id(call)] == "x" * HEAD + left_out + "x" * TAIL
        after = governor.task("wild/y", b"")
        await governor.outputs(after)
        assert governor.server.logs[task_id(after)] == "after\n"

    wild(
        tmp_path,
        scenario,
        *SAY,
        "register()",
        "fields = call()",
        f"say('x' * {size})",
        "done(fields, ['memory', b''])",
        "fields = call()",
        "say('after\\n')",
        "done(fields, ['memory', b''])",
        "stay()",
    )


def test_a_log_that_somebody_has_removed_costs_its_text_alone(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        call = governor.task("wild/x", b"")
        assert await governor.outputs(call) == [(4, b"fine")]
        assert task_id(call) not in governor.server.logs

    wild(
        tmp_path,
        scenario,
        *SAY,
        "register()",
        "fields = call()",
        "say('gone\\n')",
        "for stream in (1, 2): os.unlink(os.readlink(f'/proc/self/fd/{stream}'))",
        "done(fields, ['memory', b'fine'])",
        "stay()",
    )
