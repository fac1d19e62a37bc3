"""Which tasks may run twice at a time, and what goes before what."""

from __future__ import annotations

from typing import Any

import pytest

from rain.client import Program, RainException, Session, Task, blob, remote
from rain.client.options import Options
from rain.client.tasks import Execute
from tests.client.fake import World


@remote()
def silent(ctx: Any) -> bytes:
    return b""


@remote(idempotent=True)
def allowed(ctx: Any) -> bytes:
    return b""


@remote(idempotent=False)
def denied(ctx: Any) -> bytes:
    return b""


def submitted(here: World, session: Session) -> dict[str, bool]:
    session.submit()
    (message,) = here.server.submissions
    return {kind.name: kind.idempotent for kind in message.task_kinds}


def make_all() -> None:
    silent()
    allowed()
    denied()
    Execute("true", name="program", idempotent=True)
    Program("cat", stdin="text", name="template", idempotent=False)(text=blob("x"))
    Task((), 1, task_type="own/work", name="own")


def test_without_a_word_no_task_runs_twice_at_a_time(here: World) -> None:
    with here.session as session:
        make_all()
        assert submitted(here, session) == {
            "silent": False,
            "allowed": True,
            "denied": False,
            "program": True,
            "template": False,
            "own": False,
        }


def test_a_session_says_it_for_all_tasks_that_do_not_say_it_themselves(here: World) -> None:
    with here.client.new_session("sweep", idempotent=True) as session:
        make_all()
        assert submitted(here, session) == {
            "silent": True,
            "allowed": True,
            "denied": False,
            "program": True,
            "template": False,
            "own": True,
        }


@pytest.mark.parametrize("wrong", ["yes", 1, 0.5])
def test_what_is_neither_true_nor_false_is_refused(here: World, wrong: Any) -> None:
    for said in (
        lambda: Options.of(idempotent=wrong),
        lambda: Program("true", idempotent=wrong),
        lambda: here.client.new_session("sweep", idempotent=wrong),
    ):
        with pytest.raises(RainException, match=f"idempotent is {wrong!r}; it must be True or"):
            said()
