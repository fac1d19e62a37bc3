"""Executors that break the rules: they cost their task and themselves, and nobody else."""

from pathlib import Path

import pytest

from rain.governor.executors import cbor_link
from tests.governor.foreign import wild
from tests.governor.running import BLOB, FOLDER, PICKLED, Running, governed, is_alive

pytestmark = pytest.mark.whole


def failing(tmp_path: Path, *lines: str, outputs: tuple[int, ...] = (BLOB,)) -> list[str]:
    """How a task fails in this executor; and the governor lives: another task works."""
    messages: list[str] = []

    async def scenario(governor: Running) -> None:
        inputs = (governor.give(b"data"),)
        messages.append(await governor.failure(governor.task("wild/x", b"", inputs, outputs)))
        after = governor.builtin("concat", None, inputs)
        assert await governor.outputs(after) == [(4, b"data")]

    wild(tmp_path, scenario, *lines)
    return messages


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        (("register(protocol='cbor-2')",), "it speaks 'cbor-2', and not 'cbor-1'"),
        (("register(executor_id=77)",), "it registers as executor 77, not 1"),
        (("register(executor_type='tame')",), "registers as a 'tame' executor, not 'wild'"),
        (("register(colour='red')",), "register has the unknown key 'colour'"),
        (("connect()", "send('result', {'task': [1, 1], 'success': True})"), "first message"),
        (("connect()", "send_raw(os.urandom(50))"), "broke the protocol"),
        (("connect()", "link.sendall(b'\\xff' * 8)"), "a frame of 4294967295 bytes"),
        (("connect()", "send_raw(b'\\x9f' * 100000)"), "a message is not CBOR"),
    ],
)
def test_a_wrong_beginning_is_named(tmp_path: Path, lines: tuple[str, ...], complaint: str) -> None:
    (message,) = failing(tmp_path, *lines, "print('said this', flush=True)", "time.sleep(60)")
    assert message.startswith("The executor unexpectedly terminated: executor 1 ")
    assert complaint in message
    assert "stdout" in message


@pytest.mark.parametrize(
    "lines",
    [
        (),
        ("connect()",),
        ("register()",),
    ],
)
def test_an_executor_that_ends_at_once_is_told_with_the_tails_of_its_logs(
    tmp_path: Path, lines: tuple[str, ...]
) -> None:
    (message,) = failing(tmp_path, *lines, "print('x' * 1000 + ' last words')", "sys.exit(3)")
    assert "ended with exit code 3" in message
    assert "stdout:\nxxx" in message
    assert "x last words" in message
    assert "Its stderr is empty." in message


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        message = await governor.failure(governor.task("wild/x", b""))
        assert message == (
            "The executor unexpectedly terminated: executor 1 (/no/such/program) cannot be"
            " started: No such file or directory"
        )

    governed(tmp_path, scenario, commands={"wild": ("/no/such/program",)})


def test_an_executor_that_never_registers_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cbor_link, "SECONDS_TO_REGISTER", 0.2)
    (message,) = failing(tmp_path, "connect()", "time.sleep(60)")
    assert "executor 1 did not register within 0.2 seconds" in message


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        (("send_raw(b'garbage')",), "broke the protocol"),
        (("link.sendall(b'\\xff' * 8)",), "a frame of 4294967295 bytes; the limit is 134217728"),
        (("send('hello', {})",), "there is no message 'hello'"),
        (("send('register', {'protocol': 'cbor-1', 'executor_id': 1, 'executor_type': 'wild'})",),
         "it registers twice"),
        (("send('result', {'task': [1, 1], 'success': True, 'info': {}})",),
         "a result of a task that it does not run"),
        (("done(fields, ['memory', b''], colour='red')",), "the unknown key 'colour'"),
        (("done(fields, ['cached'])",), "there is no location ['cached']"),
        (("done(fields, ['memory', b''], cached_objects=[[1, 77]])",), "it caches objects that"),
        (("done(fields, ['path', 'relative'])",), "the path 'relative' of an output is not abs"),
        (("done(fields, ['path', '/etc/passwd'])",), "the path '/etc/passwd' of an output is not"),
        (("done(fields, ['path', FOLDER])",), "of an output is not inside of"),
        (("done(fields, ['path', FOLDER + '/../../../data'])",), "of an output is not inside of"),
        (("os.symlink('/etc/passwd', 'link')", "done(fields, ['path', FOLDER + '/link'])"),
         "of an output is not inside of"),
        (("os.symlink('/etc', 'link')", "done(fields, ['path', FOLDER + '/link/passwd'])"),
         "of an output is not inside of"),
        (("os.mkfifo('pipe')", "done(fields, ['path', FOLDER + '/pipe'])"),
         "is neither a file nor a directory"),
        (("link.close()",), "closed its connection"),
        (("link.sendall(b'\\x05\\0')", "link.close()"), "closed in the middle of a frame"),
        (("os.abort()",), "was killed by SIGABRT"),
        (("sys.exit(5)",), "ended with exit code 5"),
    ],
)  # fmt: skip
def test_what_breaks_the_protocol_during_a_task_costs_the_task_and_the_process(
    tmp_path: Path, lines: tuple[str, ...], complaint: str
) -> None:
    async def scenario(governor: Running) -> None:
        message = await governor.failure(governor.task("wild/x", b""))
        assert message.startswith("Lost connection to the executor: executor 1 ")
        assert complaint in message
        assert "stderr:\nlast words" in message
        # And another process does the next task
        assert await governor.outputs(governor.task("wild/y", b"")) == [(1, b"2")]

    wild(
        tmp_path,
        scenario,
        "register()",
        "fields = call()",
        "if ME > 1:",
        "    done(fields, ['memory', str(ME).encode()])",
        "    stay()",
        "print('last words', file=sys.stderr, flush=True)",
        *lines,
        "time.sleep(60)",
    )


@pytest.mark.parametrize(
    ("lines", "outputs", "complaint"),
    [
        (("done(fields)",), (BLOB,), "the task made 0 outputs instead of 1"),
        (("done(fields, None)",), (BLOB,), "the output 'blob' is missing"),
        (("done(fields, ['path', FOLDER + '/no'])",), (BLOB,), "nothing is at the path"),
        (("os.mkdir('d')", "done(fields, ['path', FOLDER + '/d'])"), (BLOB,), "must be a file"),
        (("done(fields, ['memory', b'x'])",), (FOLDER,), "not a tar archive"),
        (("done(fields, ['other_object', [1, 77]])",), (BLOB,), "is the object 1/77, which is not"),
        (("done(fields, ['other_object', fields['inputs'][0]['spec']['id']])",), (FOLDER,),
         "must be of the type 'dir'"),
        (("os.mkdir('d')", "os.mkfifo('d/p')", "done(fields, ['path', FOLDER + '/d'])"), (FOLDER,),
         "is neither a file nor a directory nor a link"),
        (("failed(fields, '')",), (BLOB,), "a failure without a text"),
        (("done(fields, outputs=[{'info': {'error': 'bad disk'}}])",), (BLOB,), "bad disk"),
        (("info = {'content_type': 'text'}",
          "done(fields, outputs=[{'info': info, 'location': ['memory', b'']}])"),
         (PICKLED,), "is 'text'"),
        (("os.symlink('loop', 'loop')", "done(fields, ['path', FOLDER + '/loop'])"), (BLOB,),
         "loop"),
    ],
)  # fmt: skip
def test_outputs_that_are_not_what_they_should_be_cost_the_task_only(
    tmp_path: Path, lines: tuple[str, ...], outputs: tuple[int, ...], complaint: str
) -> None:
    async def scenario(governor: Running) -> None:
        inputs = (governor.give(b"data"),)
        message = await governor.failure(governor.task("wild/x", b"", inputs, outputs))
        assert complaint in message
        assert await governor.outputs(governor.task("wild/y", b"")) == [(1, b"1")]
        assert not list(governor.folder.data.iterdir())

    wild(
        tmp_path,
        scenario,
        "register()",
        "fields = call()",
        *lines,
        "done(call(), ['memory', str(ME).encode()])",
        "stay()",
    )


def test_what_was_stored_for_a_task_that_fails_after_all_is_removed(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        message = await governor.failure(governor.task("wild/x", b"", (), (BLOB, BLOB)))
        assert "is missing" in message
        assert not list(governor.folder.data.iterdir())

    wild(
        tmp_path,
        scenario,
        "register()",
        "done(call(), ['memory', b'x' * 1000000], None)",
        "stay()",
    )


def test_a_call_that_cannot_be_said_costs_the_task_only(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        assert "cannot be read" in await governor.failure(governor.task("wild/x", b"{"))
        folder = governor.give(b"no archive", FOLDER)
        message = await governor.failure(governor.task("wild/x", b"", (folder,)))
        assert "cannot be unpacked" in message
        assert await governor.outputs(governor.task("wild/y", b"")) == [(1, b"1")]

    wild(tmp_path, scenario, "register()", "done(call(), ['memory', str(ME).encode()])", "stay()")


def test_the_last_answer_counts_although_the_process_ends_at_once(tmp_path: Path) -> None:
    async def scenario(governor: Running) -> None:
        assert await governor.outputs(governor.task("wild/x", b"")) == [(1, b"1")]

    wild(
        tmp_path,
        scenario,
        "register()",
        "done(call(), ['memory', str(ME).encode()])",
        "os._exit(0)",
    )


def test_an_executor_without_work_ends_with_the_governor(tmp_path: Path) -> None:
    pids: list[int] = []

    async def scenario(governor: Running) -> None:
        call = governor.task("wild/x", b"")
        pids.append(int((await governor.outputs(call))[0][1]))

    wild(
        tmp_path,
        scenario,
        "register()",
        "done(call(), ['memory', str(os.getpid()).encode()])",
        "stay()",
    )
    assert not is_alive(pids[0])
