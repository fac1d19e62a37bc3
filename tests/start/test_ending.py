"""Processes are named so that no other is meant, and ended in order."""

import os
import signal
import subprocess
from collections.abc import Generator
from contextlib import contextmanager

import pytest
from attrs import evolve

from rain.start import processes
from rain.start.ending import ProcessEnding, end_processes
from rain.start.processes import ProcessMark, parse_mark, parse_stat, spell_mark

STUBBORN = "trap '' TERM; echo; while :; do sleep 1000; done"


@contextmanager
def session(script: str) -> Generator[tuple[subprocess.Popen[str], ProcessMark]]:
    """A shell in a session of its own, once it has printed its first line."""
    process = subprocess.Popen(
        ["/bin/sh", "-c", script], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    with process:
        assert process.stdout is not None
        process.stdout.readline()
        mark = processes.mark(process.pid)
        assert mark is not None
        try:
            yield process, mark
        finally:
            # Whatever a failed test has left; the session's own leader is not reaped yet.
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)


def test_names_with_blanks_and_brackets_do_not_shift_the_fields_of_a_process() -> None:
    text = "42 (a (b) c) S 1 40 39 0 -1 4194560 900 0 0 0 250 50 7 9 20 0 3 0 1000 1 1"

    stat = parse_stat(text)

    assert (stat.pid, stat.state, stat.group, stat.session, stat.start) == (42, "S", 40, 39, 1000)


def test_a_mark_is_read_as_it_was_written() -> None:
    mark = ProcessMark(17, 4242, "5eb0-12")

    assert parse_mark(spell_mark(mark)) == mark


@pytest.mark.parametrize("text", ["", "17", "17:4242", "a:b:c", "17:-1:boot", "1:2:3:4"])
def test_what_is_no_mark_is_none(text: str) -> None:
    assert parse_mark(text) is None


def test_a_process_ends_when_it_is_asked() -> None:
    with session("echo; sleep 1000") as (process, mark):
        assert processes.is_running(mark)

        assert end_processes([mark], 30.0) == [ProcessEnding.STOPPED]

        assert not processes.is_running(mark)
        assert process.wait() == -signal.SIGTERM


def test_a_process_that_does_not_heed_is_killed_after_a_while() -> None:
    with session(STUBBORN) as (process, mark):
        assert end_processes([mark], 0.05) == [ProcessEnding.KILLED]

        assert process.wait() == -signal.SIGKILL


def test_several_processes_are_waited_for_together() -> None:
    with session("echo; sleep 1000") as (_, first), session(STUBBORN) as (_, second):
        assert end_processes([second, first], 0.05) == [ProcessEnding.KILLED, ProcessEnding.STOPPED]


def test_a_later_process_with_the_same_number_is_never_touched() -> None:
    with session("echo; sleep 1000") as (process, mark):
        earlier = [evolve(mark, start=mark.start - 1), evolve(mark, boot="earlier")]

        assert end_processes(earlier, 0.0) == [ProcessEnding.GONE, ProcessEnding.GONE]

        assert process.poll() is None


def test_a_process_that_has_ended_is_gone() -> None:
    with session("echo") as (process, mark):
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)

        assert end_processes([mark], 0.0) == [ProcessEnding.GONE]


def test_the_rest_of_a_session_does_not_outlive_its_leader() -> None:
    # The stubborn one is in the leader's process group, and so is asked and then killed with it.
    with session(f'sh -c "{STUBBORN}" & wait') as (process, mark):
        members = [each for each in processes.every_process() if each.session == mark.pid]
        assert len(members) > 1

        assert end_processes([mark], 0.05) == [ProcessEnding.KILLED]

        assert process.wait() == -signal.SIGTERM
        assert not [each for each in processes.every_process() if each.session == mark.pid]
