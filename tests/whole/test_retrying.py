"""Failures that are worth another try are tried again, others fail at once: functions, programs."""

from __future__ import annotations

import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from rain.client import Client, TaskException, TaskTimeout, get_client, remote
from rain.client.tasks import Execute

pytestmark = pytest.mark.whole


class BusyError(Exception):
    """Worth another try."""


class VeryBusyError(BusyError):
    """As well."""


def note(folder: Path) -> int:
    """How many runs there were before."""
    before = len(list(folder.iterdir()))
    (folder / str(before)).touch()
    return before


def busy_then_wrong(folder: Path) -> str:
    if note(folder) < 2:
        raise VeryBusyError("come again")
    raise KeyError("and now for something else")


def busy_then_well(folder: Path) -> str:
    if note(folder) < 2:
        raise BusyError("come again")
    return "done"


@remote(tries=5, retry_on=BusyError)
def remotely(ctx: Any, folder: Path) -> str:
    return busy_then_well(folder)


@pytest.fixture(scope="module")
def client() -> Generator[Client, None, None]:
    with Client(cpus=1) as client:
        yield client


def test_a_failure_of_another_class_is_the_end_whatever_tries_are_left(
    client: Client, tmp_path: Path
) -> None:
    often = client.options(tries=10, retry_on=(BusyError, OSError))
    with pytest.raises(KeyError, match="something else") as why:
        often.submit(busy_then_wrong, tmp_path).result()
    told = why.value.__cause__
    assert isinstance(told, TaskException)
    assert [run.retryable for run in told.runs] == [True, True, False]
    assert "not tried again: KeyError is not in retry_on (BusyError, OSError)" in str(told)


def test_a_class_of_main_is_recognised_and_so_are_classes_below_it(
    client: Client, tmp_path: Path
) -> None:
    class Mine(Exception):  # as in a notebook
        pass

    class MineToo(Mine):
        pass

    def fail(folder: Path) -> str:
        if note(folder) < 2:
            raise MineToo
        return "done"

    assert client.options(tries=3, retry_on=Mine).submit(fail, tmp_path).result() == "done"


def test_a_remote_function_and_a_chain_of_them_are_tried_again_by_the_same_rule(
    client: Client, tmp_path: Path
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()

    @remote(tries=5, retry_on=BusyError, auto_load=True)
    def after(ctx: Any, text: str, folder: Path) -> str:
        return f"{text} {busy_then_well(folder)}"

    with client.new_session("chain") as session:
        task = after(remotely(first), second)
        task.output.keep()
        session.submit()
        assert task.output.fetch().get_bytes() == b"done done"


def test_a_program_is_tried_again_for_the_exit_codes_that_it_names(
    client: Client, tmp_path: Path
) -> None:
    line = f"echo >> {tmp_path}/runs; exit $(($(wc -l < {tmp_path}/runs) + 72))"
    with client.new_session("program", on_failure="continue") as session:
        task = Execute(line, shell=True, tries=10, retry_on=(73, 74))
        session.submit()
        with pytest.raises(TaskException, match="exit code 75") as why:
            task.wait()
    assert [(run.exit_code, run.retryable) for run in why.value.runs] == [
        (73, True),
        (74, True),
        (75, False),
    ]


def test_a_program_that_makes_no_output_has_none_of_its_exit_codes(client: Client) -> None:
    with client.new_session("program", on_failure="continue") as session:
        task = Execute("true", output_paths=["never"], tries=10, retry_on=1)
        session.submit()
        with pytest.raises(TaskException, match="never") as why:
            task.wait()
    assert [run.retryable for run in why.value.runs] == [False]


def slow_then_well(folder: Path) -> str:
    if note(folder) < 1:
        print("I am slow")  # noqa: T201 # as users do
        time.sleep(600)
    return "done"


def waits_for_another(folder: Path) -> None:
    note(folder)
    get_client().submit(time.sleep, 600).result()


def test_a_call_that_takes_too_long_is_interrupted_and_tried_again(
    client: Client, tmp_path: Path
) -> None:
    hasty = client.options(timeout=2, tries=2)
    assert hasty.submit(slow_then_well, tmp_path).result() == "done"
    with pytest.raises(TaskTimeout, match=r"longer than its timeout of 0\.3 s") as why:
        client.options(timeout=0.3).submit(time.sleep, 600).result()
    assert isinstance(why.value, TimeoutError)
    assert [run.cause for run in why.value.runs] == ["timeout"]


def test_a_task_says_what_it_has_printed_until_its_time_was_over(
    client: Client, tmp_path: Path
) -> None:
    with pytest.raises(TaskTimeout) as why:
        client.options(timeout=2).submit(slow_then_well, tmp_path).result()
    assert why.value.runs[0].logs == "I am slow\n"


def test_waiting_for_another_task_is_no_way_around_a_timeout(
    client: Client, tmp_path: Path
) -> None:
    with pytest.raises(TaskTimeout):
        client.options(timeout=0.5).submit(waits_for_another, tmp_path).result()


def test_a_timeout_that_is_not_named_in_retry_on_is_final(client: Client, tmp_path: Path) -> None:
    with pytest.raises(TaskTimeout) as why:
        client.options(timeout=0.3, tries=5, retry_on=KeyError).submit(
            slow_then_well, tmp_path
        ).result()
    assert len(why.value.runs) == 1
