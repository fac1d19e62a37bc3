"""What tasks print appears where the program writes: whole lines, named, and not too many."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
import time
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from rain.base.errors import ConnectionLostError
from rain.base.ids import SessionId, TaskId, pack
from rain.base.printed_lines import NO_TASK
from rain.base.wire.printed import PrintedLines, Watch
from rain.client import (
    AsyncClient,
    Client,
    ConnectionException,
    RainException,
    get_client,
    remote,
    tasks,
)
from rain.client.display.showing import SECONDS_SAVED, Allowance, Shaping, write
from tests.client.fake import World
from tests.support.pipes import named_pipe

TASK = TaskId(pack(3, 12))
NAMED = "[talk 3/12 there:1]"


def lines(
    text: str, *, errors: bool = False, left_out: int = 0, name: str = "talk"
) -> PrintedLines:
    return PrintedLines(TASK, name, errors, text, left_out, "there:1")


def shaped(*told: PrintedLines) -> list[str]:
    return [line for _, line in Shaping().shape(told, 0.0)]


def test_each_line_says_which_task_has_printed_it_and_where() -> None:
    assert shaped(lines("one\ntwo\n"), lines("", name="")) == [
        f"{NAMED} one",
        f"{NAMED} two",
        "[3/12 there:1] ",
    ]


def test_empty_lines_stay_and_a_last_line_without_an_end_is_a_line() -> None:
    assert shaped(lines("one\n\ntwo")) == [f"{NAMED} one", f"{NAMED} ", f"{NAMED} two"]


def test_what_is_left_out_is_said_of_a_task_and_of_all() -> None:
    assert shaped(lines("end\n", left_out=1234), PrintedLines(NO_TASK, left_out=5678)) == [
        f"{NAMED} [... 1,234 bytes are left out here ...]",
        f"{NAMED} end",
        "[5,678 bytes that tasks have printed are not shown here]",
    ]


def test_after_a_silence_many_lines_are_allowed_and_then_a_fixed_number_a_second() -> None:
    allowance = Allowance(10)
    most = int(10 * SECONDS_SAVED)
    assert allowance.take(1000, 100.0) == most
    assert allowance.take(1000, 100.0) == 0
    assert allowance.take(1000, 101.0) == 10
    assert allowance.take(1000, 10_000.0) == most


def test_one_line_now_and_then_is_allowed_even_at_a_very_small_rate() -> None:
    allowance = Allowance(0.01)
    assert allowance.take(5, 0.0) == 1
    assert allowance.take(5, 50.0) == 0
    assert allowance.take(5, 101.0) == 1


def test_too_many_lines_are_counted_and_told_with_the_next_ones_or_at_the_end() -> None:
    shaping = Shaping()
    shaping.allowance = Allowance(2)
    assert len(shaping.shape([lines("x\n" * 30)], 0.0)) == 10
    told = [line for _, line in shaping.shape([lines("y\n" * 5)], 1.0)]
    assert told == [
        "[20 lines were not shown: there were too many]",
        f"{NAMED} y",
        f"{NAMED} y",
    ]
    assert shaping.take_last() == [(True, "[3 lines were not shown: there were too many]")]
    assert shaping.take_last() == []


def test_lines_go_where_they_were_printed(capsys: pytest.CaptureFixture[str]) -> None:
    write(Shaping().shape([lines("out\n"), lines("err\n", errors=True), lines("out\n")], 0.0))
    out, err = capsys.readouterr()
    assert out == f"{NAMED} out\n" * 2
    assert err == f"{NAMED} err\n"


def test_a_program_without_streams_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    write([(False, "nobody sees this")])


def test_bars_are_taken_away_before_a_line_is_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Bars:
        @staticmethod
        @contextmanager
        def external_write_mode(file: Any) -> Generator[None]:
            file.write("<bar away>")
            yield
            file.write("<bar back>")

    module = ModuleType("tqdm")
    monkeypatch.setattr(module, "tqdm", Bars, raising=False)
    monkeypatch.setitem(sys.modules, "tqdm", module)
    write([(False, "line")])
    assert capsys.readouterr().out == "<bar away>line\n<bar back>"


def test_in_a_notebook_lines_belong_to_the_cell_that_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Stream:
        parent: object = "the cell that has started the thread"

        def set_parent(self, parent: object) -> None:
            self.parent = parent

        def write(self, text: str) -> None:
            capsys_out.append((self.parent, text))

        def flush(self) -> None: ...

    class Kernel:
        def get_parent(self) -> object:
            return "the cell that runs"

    class Shell:
        kernel = Kernel()

    capsys_out: list[tuple[object, str]] = []
    module = ModuleType("IPython")
    monkeypatch.setattr(module, "get_ipython", Shell, raising=False)
    monkeypatch.setitem(sys.modules, "IPython", module)
    monkeypatch.setattr(sys, "stdout", Stream())
    write([(False, "line")])
    assert capsys_out == [("the cell that runs", "line\n")]


# A client and a played connection.


def test_the_sessions_of_a_client_are_watched_those_of_now_and_those_of_later(here: World) -> None:
    here.client.show_output()
    second = here.client.new_session("second")
    here.client.show_output(False)
    first = SessionId(here.session.session_id)
    assert here.server.watches == [
        Watch(frozenset([first])),
        Watch(frozenset([first, SessionId(second.session_id)])),
        None,
    ]


def test_one_session_is_watched_alone(here: World) -> None:
    second = here.client.new_session("second")
    second.show_output()
    here.client.new_session("third")
    second.show_output(False)
    second.show_output(False)
    assert here.server.watches == [Watch(frozenset([SessionId(second.session_id)])), None]


def test_what_has_come_is_shown_when_the_client_is_closed(
    here: World, capsys: pytest.CaptureFixture[str]
) -> None:
    here.client.show_output()
    here.server.lines.put([lines("one\n")])
    here.server.lines.put([lines("two\n")])
    here.client.close()
    assert capsys.readouterr().out == f"{NAMED} one\n{NAMED} two\n"


def test_a_rate_that_is_none_is_refused_by_name(here: World) -> None:
    with pytest.raises(RainException, match="lines_per_second is 0: it must be above 0"):
        here.client.show_output(lines_per_second=0)
    wrong: Any = "many"
    with pytest.raises(RainException, match="lines_per_second is 'many': it must be above 0"):
        here.client.show_output(lines_per_second=wrong)


def test_a_server_that_has_gone_is_told_as_everywhere(here: World) -> None:
    here.server.errors["watch"] = ConnectionLostError("gone")
    with pytest.raises(ConnectionException, match="gone"):
        here.client.show_output()
    here.server.errors.clear()


# A real cluster.


def talk(name: str) -> str:
    print("I am", name)  # noqa: T201 # as users do
    subprocess.run(["/bin/echo", "a child of", name], check=True)
    os.write(1, f"raw {name}\n".encode())
    warnings.warn(f"beware of {name}", stacklevel=1)
    logging.getLogger("test").warning("logged by %s", name)
    return name


def talk_below(name: str) -> str:
    return get_client().submit(talk_deeper, name).result()


def talk_deeper(name: str) -> str:
    return get_client().submit(talk, name).result()


def talk_and_wait(pipe: str) -> None:
    print("so far")  # noqa: T201 # as users do
    with Path(pipe).open() as words:
        words.readline()
    print("no end", end="")  # noqa: T201 # as users do


def read_until(capsys: pytest.CaptureFixture[str], word: str) -> str:
    """What was written, once a word is among it."""
    text, deadline = "", time.monotonic() + 30
    while word not in text:
        assert time.monotonic() < deadline, text
        time.sleep(0.01)
        text += capsys.readouterr().out
    return text


@pytest.mark.whole
def test_whatever_a_task_prints_in_whatever_way_appears_with_its_name(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with Client(cpus=1) as client:
        client.show_output()
        client.submit(talk, "Ann").result()
    out, err = capsys.readouterr()
    names = {line.partition("] ")[0] for line in out.splitlines()}
    (name,) = names
    assert re.fullmatch(r"\[talk 1/\d+ 127\.0\.0\.1:\d+", name)
    told = [line.partition("] ")[2] for line in out.splitlines()]
    assert told == ["I am Ann", "a child of Ann", "raw Ann"]
    assert "UserWarning: beware of Ann" in err
    assert f"{name}] logged by Ann" in err


@pytest.mark.whole
def test_what_the_tasks_of_tasks_print_appears_where_their_program_watches(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with Client(cpus=1) as client:
        client.show_output()
        assert client.submit(talk_below, "Eve").result() == "Eve"
        assert "] I am Eve\n" in read_until(capsys, "raw Eve")


@pytest.mark.whole
def test_a_future_gives_what_its_call_has_printed() -> None:
    with Client(cpus=1) as client:
        future = client.submit(talk, "Ann")
        assert future.result() == "Ann"
        assert future.logs().startswith("I am Ann\na child of Ann\nraw Ann\n[stderr]\n")
        with pytest.raises(RainException, match="is no call that this client has made"):
            client.put(1).logs()


@pytest.mark.whole
def test_lines_appear_while_the_task_runs_and_the_last_one_at_its_end(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with named_pipe(tmp_path / "pipe") as pipe, Client(cpus=1) as client:
        client.show_output()
        future = client.submit(talk_and_wait, pipe.path)
        assert read_until(capsys, "so far").endswith("] so far\n")
        assert not future.done()
        pipe.say()
        future.result()
        assert read_until(capsys, "no end").endswith("] no end\n")


@remote(name="first")
def first(ctx: Any) -> bytes:
    print("in the first")  # noqa: T201 # as users do
    return b"1"


@remote(name="second")
def second(ctx: Any, given: Any) -> bytes:
    print("in the second")  # noqa: T201 # as users do
    raise ValueError("wrong")


@pytest.mark.whole
def test_chains_programs_and_failures_appear_too_but_not_of_other_sessions(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with Client(cpus=1) as client:
        with client.new_session("quiet") as quiet:
            tasks.Execute("echo nobody hears this", shell=True)
            quiet.submit()
            quiet.wait_all()
        with client.new_session("loud", on_failure="continue", fuse=True) as loud:
            loud.show_output()
            program = tasks.Execute("echo from a program; echo trouble >&2; exit 3", shell=True)
            chain = second(first())
            loud.submit()
            loud.wait_some([chain])
            loud.wait_some([program])
    out, err = capsys.readouterr()
    assert sorted(line.partition("] ")[2] for line in out.splitlines()) == [
        "from a program",
        "in the first",
        "in the second",
    ]
    assert out.count("[first + second ") == 2
    assert "trouble" in err


@pytest.mark.whole
def test_a_task_that_prints_without_end_hurts_nobody(capsys: pytest.CaptureFixture[str]) -> None:
    def print_much() -> None:
        line = "x" * 99 + "\n"
        for _ in range(100):
            sys.stdout.write(line * 10_000)
        sys.stdout.write("the end\n")

    with Client(cpus=1) as client:
        client.show_output()
        client.submit(print_much).result()
    out = capsys.readouterr().out
    assert len(out) < 1_000_000
    assert "bytes are left out here" in out
    assert out.endswith("] the end\n")


@pytest.mark.whole
def test_a_task_that_kills_its_process_has_shown_its_last_words(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def die() -> None:
        sys.stdout.write("last words")
        os._exit(3)

    with Client(cpus=1) as client:
        client.show_output()
        with pytest.raises(RainException):
            client.submit(die).result()
    assert capsys.readouterr().out.endswith("] last words\n")


async def _async_talk() -> None:
    async with AsyncClient(cpus=1) as client:
        client.show_output()
        await client.submit(talk, "Ann")


@pytest.mark.whole
def test_an_asyncio_program_shows_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    import asyncio  # noqa: PLC0415 # only here

    asyncio.run(_async_talk())
    assert "] I am Ann\n" in capsys.readouterr().out
