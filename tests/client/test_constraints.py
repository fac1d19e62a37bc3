"""What tasks say about their place and their time travels with their kind."""

from __future__ import annotations

from typing import Any

import pytest

from rain.base.constraints import Constraints
from rain.client import Program, RainException, Session, Task, remote
from rain.client.execute import Execute
from tests.client.fake import World

PLACE: dict[str, object] = {"pin": ["alpha", "beta:9000"], "apart": "training"}
MEANT = Constraints(pin=("alpha", "beta:9000"), apart="training")


@remote(duration=90, constraints=PLACE)
def train(ctx: Any) -> bytes:
    return b""


def test_every_way_to_make_a_task_takes_a_duration_and_constraints(here: World) -> None:
    with here.session:
        Task((), 0, task_type="own/method", duration=90, constraints=PLACE)
        Execute("true", duration=90, constraints=PLACE)
        Program("true", duration=90, constraints=PLACE)()
        train()
        here.session.submit()
    kinds = here.server.submissions[0].task_kinds
    assert len(kinds) == 4 - 1  # both ways to run a program make one kind
    assert {kind.duration_hint for kind in kinds} == {90.0}
    assert {kind.constraints for kind in kinds} == {MEANT}


def test_they_stay_when_other_things_are_changed_before_the_submit(here: World) -> None:
    with here.session:
        task = train()
        task.spec.resources["cpus"] = 2
        here.session.submit()
    (kind,) = here.server.submissions[0].task_kinds
    assert kind.resources.cpus == 2
    assert (kind.duration_hint, kind.constraints) == (90.0, MEANT)


def test_a_task_that_asks_for_nothing_has_no_constraints(here: World) -> None:
    with here.session:
        Task((), 0, task_type="own/method", constraints={})
        here.session.submit()
    (kind,) = here.server.submissions[0].task_kinds
    assert (kind.duration_hint, kind.constraints) == (0.0, None)


@pytest.mark.parametrize("duration", [0, -1, "long", True, float("inf"), float("nan")])
def test_a_duration_is_a_number_above_zero(session: Session, duration: Any) -> None:
    with pytest.raises(RainException, match="train: duration is a number of seconds above 0"):
        remote(duration=duration)(train.fn)


def test_unknown_constraints_are_refused_where_they_are_written(session: Session) -> None:
    with pytest.raises(RainException, match="train: there is no constraint 'near'"):
        remote(constraints={"near": "me"})(train.fn)
