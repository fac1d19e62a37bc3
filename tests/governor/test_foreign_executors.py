"""Executors of other languages that do as the guide says, from orders to updates."""

from pathlib import Path

import pytest

from rain.base.wire.orders import Orders
from rain.common.fs import pack_tree
from rain.governor.storage.store import MEMORY_LIMIT
from tests.governor.foreign import program, wild
from tests.governor.running import BLOB, FOLDER, PICKLED, Running, governed
from tests.governor.words import object_id, task_id
from tests.support.waiting import until

pytestmark = pytest.mark.whole

ECHO = (
    "register()",
    "while True:",
    "    fields = call()",
    "    done(fields, *[entry['location'] for entry in fields['inputs']])",
)


def test_a_task_gets_its_inputs_and_gives_its_outputs(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        inputs = (governor.give(b"one"), governor.give(b"two"))
        call = governor.task("wild/echo", b"", inputs, (BLOB, BLOB))
        assert await governor.outputs(call) == [(3, b"one"), (3, b"two")]

    wild(tmp_path, scenario, *ECHO)


def test_one_call_at_a_time_and_the_executor_is_used_again(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        calls = [governor.task("wild/count", b"") for _ in range(20)]
        counts = [int((await governor.outputs(call))[0][1]) for call in calls]
        assert counts == list(range(20))
        assert len(governor.executors) == 1

    wild(
        tmp_path,
        scenario,
        "register()",
        "for number in range(100):",
        "    fields = call()",
        "    link.setblocking(False)",
        "    try:",
        "        assert not link.recv(1), 'a second call came before the first was answered'",
        "    except BlockingIOError:",
        "        pass",
        "    link.setblocking(True)",
        "    done(fields, ['memory', str(number).encode()])",
    )


def test_stored_inputs_come_as_paths_that_can_be_read(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        large = governor.function(lambda ctx: b"x" * MEMORY_LIMIT * 2)
        made = governor.call(large, outputs=(BLOB,))
        await governor.outputs(made)
        call = governor.task("wild/size", b"", (made + 2,))
        assert await governor.outputs(call) == [(6, b"524288")]

    wild(
        tmp_path,
        scenario,
        "register()",
        "fields = call()",
        "where, path = fields['inputs'][0]['location']",
        "assert where == 'path' and fields['inputs'][0]['info']['size'] == 524288",
        "done(fields, ['memory', str(len(open(path).read())).encode()])",
        "stay()",
    )


def test_directories_come_as_folders_and_go_after_the_call(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        folder = governor.give(pack_tree({"a": {"b": "text"}}), FOLDER)
        first = governor.task("wild/read", b"", (folder,))
        assert await governor.outputs(first) == [(4, b"text")]
        second = governor.task("wild/look", b"", ())
        assert await governor.outputs(second) == [(5, b"False")]

    wild(
        tmp_path,
        scenario,
        "register()",
        "fields = call()",
        "where, path = fields['inputs'][0]['location']",
        "done(fields, ['memory', open(path + '/a/b', 'rb').read()])",
        "done(call(), ['memory', str(os.path.exists(path)).encode()])",
        "stay()",
    )


def test_outputs_at_paths_are_moved_away(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        call = governor.task("wild/make", b"", (), (BLOB, BLOB, FOLDER))
        small, large, folder = await governor.outputs(call)
        assert small == (5, b"small")
        assert (large[0], governor.read(call + 3)) == (MEMORY_LIMIT, b"x" * MEMORY_LIMIT)
        assert folder[0] > 0
        assert governor.read(call + 4) == pack_tree({"a": "text"})
        left = governor.task("wild/left", b"")
        assert await governor.outputs(left) == [(2, b"[]")]

    wild(
        tmp_path,
        scenario,
        "register()",
        "fields = call()",
        "open('small', 'w').write('small')",
        f"open('large', 'w').write('x' * {MEMORY_LIMIT})",
        "os.mkdir('folder')",
        "open('folder/a', 'w').write('text')",
        "done(fields, *[['path', f'{FOLDER}/{name}'] for name in ('small', 'large', 'folder')])",
        "fields = call()",
        "left = [one for one in os.listdir('.') if one != 'socket']",
        "done(fields, ['memory', str(left).encode()])",
        "stay()",
    )


def test_a_large_output_in_memory_is_stored(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        call = governor.task("wild/make", b"")
        assert (await governor.outputs(call))[0] == (3_000_000, b"")
        assert governor.read(call + 2) == b"x" * 3_000_000

    wild(tmp_path, scenario, "register()", "done(call(), ['memory', b'x' * 3000000])", "stay()")


def test_an_input_is_passed_on_without_a_copy(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        call = governor.task("wild/pass", b"", (governor.give(b"same"),))
        assert await governor.outputs(call) == [(4, b"same")]

    wild(
        tmp_path,
        scenario,
        "register()",
        "fields = call()",
        "done(fields, ['other_object', fields['inputs'][0]['spec']['id']])",
        "stay()",
    )


def test_a_failure_has_the_executors_own_text_and_it_works_on(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        assert await governor.failure(governor.task("wild/x", b"")) == "it went wrong"
        assert await governor.outputs(governor.task("wild/y", b"")) == [(4, b"good")]
        assert len(governor.executors) == 1

    wild(
        tmp_path,
        scenario,
        "register()",
        "failed(call(), 'it went wrong')",
        "done(call(), ['memory', b'good'])",
        "stay()",
    )


def test_cached_objects_are_not_sent_again_until_they_are_dropped(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        kept = governor.give(b"data")
        for expected in (b"memory", b"cached"):
            call = governor.task("wild/x", b"", (kept,))
            assert await governor.outputs(call) == [(6, expected)]
        governor.order(Orders(drops=[object_id(kept)]))
        await until(lambda: governor.reactor.find(object_id(kept)) is None)
        call = governor.task("wild/dropped", b"")
        assert await governor.outputs(call) == [(11, f"[[1, {kept}]]".encode())]

    wild(
        tmp_path,
        scenario,
        "register()",
        "for _ in range(2):",
        "    fields = call()",
        "    location = fields['inputs'][0]['location']",
        "    how = location if location == 'cached' else location[0]",
        "    done(fields, ['memory', how.encode()], cached_objects=[[1, fields['inputs'][0]"
        "['spec']['id'][1]]])",
        "name, fields = receive()",
        "assert name == 'drop_cached', name",
        "done(call(), ['memory', str(fields['objects']).encode()])",
        "stay()",
    )


def test_what_is_cached_after_it_has_gone_is_dropped_at_once(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        kept = governor.give(b"data")
        call = governor.task("wild/x", b"", (kept,))
        governor.order(Orders(drops=[object_id(kept)]))
        await governor.outputs(call)
        assert await governor.outputs(governor.task("wild/y", b"")) == [(7, b"dropped")]

    wild(
        tmp_path,
        scenario,
        "register()",
        "fields = call()",
        "done(fields, ['memory', b''], cached_objects=[fields['inputs'][0]['spec']['id']])",
        "name, dropped = receive()",
        "assert name == 'drop_cached', name",
        "assert dropped['objects'] == [fields['inputs'][0]['spec']['id']]",
        "done(call(), ['memory', b'dropped'])",
        "stay()",
    )


def test_the_digit_count_in_place_of_the_id_is_accepted(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        # Given the executors 1 to 10, of which the tenth has an id of two digits
        for number in range(1, 11):
            call = governor.task("wild/x", b"")
            if number < 10:
                assert "exit code 3" in await governor.failure(call)
            else:
                assert await governor.outputs(call) == [(2, b"10")]

    wild(
        tmp_path,
        scenario,
        "register(executor_id=len(str(ME)))",
        "fields = call()",
        "if ME < 10: sys.exit(3)",
        "done(fields, ['memory', str(ME).encode()])",
        "stay()",
    )


def test_a_stopped_task_costs_its_process_and_the_next_one_works(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        call = governor.task("wild/x", b"")
        await governor.until(lambda: task_id(call) in governor.server.started)
        governor.stop(call)
        assert await governor.outputs(governor.task("wild/y", b"")) == [(1, b"2")]

    wild(
        tmp_path,
        scenario,
        "register()",
        "fields = call()",
        "if ME == 1: stay()",
        "done(fields, ['memory', str(ME).encode()])",
        "stay()",
    )


def test_an_overriding_python_executor_speaks_the_protocol(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        function = governor.function(lambda ctx, a: a)
        call = governor.call(function, 7, outputs=(PICKLED,))
        assert await governor.outputs(call) == [(4, b"args")]

    lines = (
        "register(executor_type='py')",
        "fields = call()",
        "assert list(fields['spec']['config']) == ['args', 'kwargs', 'encode_outputs']",
        "done(fields, ['memory', b'args'])",
        "stay()",
    )
    governed(tmp_path, scenario, cpus=1, commands={"py": program(*lines)})


def test_an_idle_executor_beyond_one_per_cpu_ends(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        # Given one cpu, and an executor of each type that has worked
        await governor.outputs(governor.task("wild/x", b""))
        function = governor.function(lambda ctx: 1)
        assert await governor.value(governor.call(function)) == 1
        # When they have been idle for a while, only one is left
        await until(lambda: len(governor.executors) == 1)
        # And when both are needed again, both work
        assert await governor.value(governor.call(function)) == 1
        await governor.outputs(governor.task("wild/x", b""))

    lines = ("register()", "while True: done(call(), ['memory', b''])")
    governed(tmp_path, scenario, cpus=1, commands={"wild": program(*lines)}, idle_seconds=0.05)
