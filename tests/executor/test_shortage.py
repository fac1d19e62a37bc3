"""What an executor lacks: its own part of the work ends it by name, the user's part is an error."""

from __future__ import annotations

import os
import resource
from types import ModuleType
from typing import Any

import pytest

from rain.base import executor_protocol as protocol
from rain.base.shortage import NO_THREAD, lacks_thread_of_ours
from tests.executor.child import PATIENCE, PLAIN, Child


def take_all_descriptors() -> list[int]:
    """From here on this process can open nothing."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    taken: list[int] = []
    while True:
        try:
            taken.append(os.dup(0))
        except OSError:
            return taken


def test_what_user_code_lacks_is_an_error_of_its_task(executor: Child) -> None:
    def careless(ctx: Any) -> None:
        taken = take_all_descriptors()
        try:
            open("mine", "w")  # noqa: PTH123, SIM115 # it fails
        finally:
            for descriptor in taken:
                os.close(descriptor)

    told = executor.failure(careless)
    assert "OSError: [Errno 24] Too many open files: 'mine'" in told
    assert "A process of a task may have 64 files, sockets and pipes open at once here" in told
    assert "--task-descriptors" in told
    assert executor.value(lambda _: 7) == 7


def test_a_task_that_leaves_no_descriptor_open_is_told_so_all_the_same(executor: Child) -> None:
    # given: an executor that has never failed, so that it has not read what it needs for that
    def leaks(ctx: Any) -> None:
        import resource  # noqa: PLC0415 # it runs in another process

        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        opened: list[object] = []
        while True:
            opened.append(open("/dev/null"))  # noqa: PTH123, SIM115 # it leaks

    # when: the traceback of its error still holds all that it has opened
    told = executor.failure(leaks)
    # then
    assert "OSError: [Errno 24] Too many open files: '/dev/null'" in told
    assert "--task-descriptors" in told
    assert executor.value(lambda _: 7) == 7


def test_an_executor_that_cannot_write_a_result_says_what_it_lacks_and_ends(
    executor: Child,
) -> None:
    # given: a function that leaves no descriptor, and returns what needs a file
    def greedy(ctx: Any) -> bytes:
        take_all_descriptors()
        return bytes(1_000_000)

    kind, row = executor.row(executor.remember(greedy), outputs=(PLAIN,))
    # when
    executor.post(1)
    executor.say(protocol.CALLS, 1, [kind], [], [], [row], None)
    # then
    name, text = executor.hear()
    assert name == protocol.LACKS
    assert text.startswith("[Errno 24] cannot write into ")
    assert text.endswith("Too many open files")
    assert executor.process.wait(PATIENCE) == 1


@pytest.mark.parametrize("text", ["no room", "ü" * 500])
def test_the_last_words_are_read_as_they_were_written(text: str) -> None:
    body = protocol.lacks_frame(text)[protocol.HEADER :]
    assert body.startswith(protocol.LACKS_HEAD)
    said = protocol.lack_of(body)
    assert said
    assert text.startswith(said)


@pytest.mark.parametrize("frame", [b"", b"\x91\xa4look", b"\x93\x01\x02\x03"])
def test_no_other_message_is_taken_for_the_last_words(frame: bytes) -> None:
    assert not frame.startswith(protocol.LACKS_HEAD)


@pytest.mark.parametrize(("module", "ours"), [("rain.client.caller", True), ("rainfall", False)])
def test_a_missing_thread_is_ours_if_rain_wanted_to_start_it(
    monkeypatch: pytest.MonkeyPatch, module: str, ours: bool
) -> None:
    # given: the system gives no thread, and a module starts one
    system = ModuleType("threading")
    exec(f"def refuse(*_): raise RuntimeError({NO_THREAD!r})", vars(system))  # noqa: S102
    monkeypatch.setattr("threading._start_joinable_thread", system.refuse, raising=False)
    monkeypatch.setattr("threading._start_new_thread", system.refuse, raising=False)
    starter = ModuleType(module)
    exec(  # noqa: S102 # the name of the module is what counts
        "import threading\ndef start(): threading.Thread(target=print).start()", vars(starter)
    )
    # when
    with pytest.raises(RuntimeError) as caught:
        starter.start()
    # then
    assert lacks_thread_of_ours(caught.value) is ours
