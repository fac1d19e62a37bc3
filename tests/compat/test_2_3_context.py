"""Spec 2.3 and 3.6: what functions do with their context, and executors that die."""

import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from rain.client import Client, Output, OutputDir, Session, TaskException, blob, remote
from tests.compat.running import failure, result, results
from tests.support.modes import in_processes

pytestmark = pytest.mark.whole


def test_the_context_makes_data(session: Session) -> None:
    @remote(outputs=4)
    def make(ctx: Any) -> Any:
        return (
            ctx.blob("text"),
            ctx.blob(b"[1]", content_type="json"),
            ctx.blob({"a": 1}, encode="cbor"),
            ctx.pickled({1, 2}),
        )

    assert [found.load() for found in results(make())] == ["text", [1], {"a": 1}, {1, 2}]


def test_the_context_moves_files_and_folders_out(session: Session) -> None:
    @remote(outputs=[Output("file", content_type="json"), OutputDir("folder")])
    def stage(ctx: Any) -> Any:
        Path("sub/empty").mkdir(parents=True)
        Path("sub/data").write_bytes(bytes(300_000))
        Path("file").write_text("[1]")
        staged = ctx.stage_file("file", content_type="json"), ctx.stage_directory("sub")
        assert not list(Path().iterdir())
        return staged

    value, folder = results(stage())

    assert value.load() == [1]
    assert folder.data_type.value == "dir"


def test_the_context_tells_the_spec_and_takes_notes(session: Session) -> None:
    @remote(outputs=["a"], name="look", cpus=2)
    def look(ctx: Any, given: Any) -> str:
        ctx.debug("first {}", 1)
        ctx.debug("{word}", word="second")
        ctx.info.user["notes"] = [1, {"a": None}]
        spec = ctx.spec
        labels = [given.label for given in spec.inputs]
        return f"{spec.id} {spec.name} {spec.task_type} {spec.resources} {spec.user} {labels}"

    task = look(blob("x"))
    task.spec.user["mine"] = 1

    said = result(task).decode()

    assert said == f"{task.id!r} look py/ {{'cpus': 2}} {{'mine': 1}} [None, 'given{{0}}']"
    task.update()
    assert task.info is not None
    assert task.info.user == {"notes": [1, {"a": None}]}
    assert task.info.debug == "first 1\nsecond"


def test_debug_lines_are_told_with_a_failure(client: Client) -> None:
    @remote()
    def fail(ctx: Any) -> bytes:
        ctx.debug("got {}", "here")
        raise ValueError("then this")

    message = failure(client, fail)

    assert "Debug:\ngot here" in message
    assert "ValueError: then this" in message


@pytest.mark.parametrize("path", ["/etc/passwd", "../stage", "nothing"])
def test_only_what_the_task_has_made_can_be_staged(client: Client, path: str) -> None:
    @remote()
    def stage(ctx: Any) -> Any:
        return ctx.stage_file(path)

    assert repr(path) in failure(client, stage)


@in_processes
def test_an_executor_that_dies_is_told_with_what_it_wrote(client: Client) -> None:
    @remote()
    def die(ctx: Any) -> bytes:
        for stream in (sys.stdout, sys.stderr):
            stream.write(f"words on {stream.name}\n")
            stream.flush()
        os.kill(os.getpid(), signal.SIGKILL)
        return b""

    message = failure(client, die)

    assert "Lost connection" in message
    assert "words on <stdout>" in message
    assert "words on <stderr>" in message


@in_processes
def test_the_next_task_runs_after_an_executor_was_killed(client: Client) -> None:
    @remote()
    def leave(ctx: Any) -> bytes:
        os._exit(1)

    @remote()
    def work(ctx: Any) -> bytes:
        return b"done"

    for _ in range(3):
        with client.new_session("dies") as dying:
            task = leave()
            dying.submit()
            with pytest.raises(TaskException):
                task.wait()
        with client.new_session("lives"):
            assert result(work()) == b"done"
