"""What tasks say that they need."""

from __future__ import annotations

from typing import Any

import pytest

from rain.client import Program, RainException, Session, Task, remote, tasks
from rain.client.execute import Execute
from rain.client.options import Options
from tests.client.fake import World

NEEDS: dict[str, int | str] = {"gpus": 2, "memory": "2GiB", "licence": 1}
ASKED = {"cpus": 1, "gpus": 2, "licence": 1, "memory": 2 * 1024**3}


@remote(resources=NEEDS)
def train(ctx: Any) -> bytes:
    return b""


def test_every_way_to_make_a_task_takes_resources(session: Session) -> None:
    made: list[Task] = [
        Task((), 1, task_type="own/method", resources=NEEDS),
        Execute("true", resources=NEEDS),
        Program("true", resources=NEEDS)(),
        train(),
    ]
    assert [task.spec.resources for task in made] == [ASKED] * 4


def test_resources_may_be_changed_until_submit(here: World) -> None:
    with here.session:
        task = tasks.Concat(())
        task.spec.resources["memory"] = "512MiB"
        task.spec.resources["cpus"] = 0
        here.session.submit()
    (kind,) = here.server.submissions[0].task_kinds
    assert kind.resources.as_dict() == {"cpus": 0, "memory": 512 * 1024**2}


def test_cpus_among_the_resources_count_more_than_the_argument(session: Session) -> None:
    assert Task((), 0, task_type="a/b", cpus=1, resources={"cpus": 3}).spec.resources["cpus"] == 3


@pytest.mark.parametrize(
    ("amounts", "text"),
    [
        ({"gpus": "2"}, "the resource 'gpus' must be a whole number, not '2'"),
        ({"memory": "lots"}, "the resource 'memory': 'lots' is not a size"),
        ({"licence": -1}, "the resource 'licence' must be a whole number, not -1"),
        ({"a=b": 1}, "'a=b' is not the name of a resource"),
    ],
)
def test_what_is_no_amount_is_refused_with_the_name_of_the_task(
    amounts: dict[str, Any], text: str, session: Session
) -> None:
    with pytest.raises(RainException, match=f"^a/b: {text}"):
        Task((), 0, task_type="a/b", resources=amounts)
    with pytest.raises(RainException, match=f"^train: {text}"):
        remote(resources=amounts)(train.fn)


def test_bad_amounts_in_a_spec_are_refused_by_submit_and_nothing_is_sent(here: World) -> None:
    with here.session:
        task = tasks.Concat((), name="mine")
        task.spec.resources["gpus"] = "all"
        with pytest.raises(RainException, match=r"'mine'.*the resource 'gpus'"):
            here.session.submit()
        assert not here.server.submissions
        assert here.session.task_count == 1


def test_every_way_to_make_a_task_takes_a_number_of_tries(session: Session) -> None:
    made: list[Task] = [
        Task((), 1, task_type="own/method", tries=3),
        Execute("true", tries=3),
        Program("true", tries=3)(),
        remote(tries=3)(_nothing)(),
    ]
    assert [task.tries for task in made] == [3] * 4
    assert train().tries == 1


def _nothing(ctx: Any) -> bytes:
    return b""


def test_tries_may_be_changed_until_the_submit_and_travel_with_the_kind(here: World) -> None:
    with here.session:
        once, often = train(), train()
        often.tries = 5
        here.session.submit()
    (submission,) = here.server.submissions
    kinds = {kind.id: kind.attempts.tries for kind in submission.task_kinds}
    assert [kinds[kind] for kind in submission.tasks.kinds] == [1, 5]
    assert "tries" not in once.spec.to_json()
    assert often.spec.to_json()["tries"] == 5


@pytest.mark.parametrize("tries", [0, -1, 101, "3", 1.5, True, None])
def test_a_number_of_tries_that_makes_no_sense_is_refused(session: Session, tries: Any) -> None:
    with pytest.raises(RainException, match="it must be a whole number from 1 to 100"):
        Execute("true", tries=tries)


def test_every_way_to_make_a_task_takes_a_priority(session: Session) -> None:
    made: list[Task] = [
        Task((), 1, task_type="own/method", priority=3),
        Execute("true", priority=3),
        Program("true", priority=3)(),
        remote(priority=3)(_nothing)(),
    ]
    assert [task.priority for task in made] == [3] * 4
    assert train().priority == 0


def test_a_priority_may_be_changed_until_the_submit_and_travels_with_the_kind(here: World) -> None:
    with here.session:
        plain, urgent = train(), train()
        urgent.priority = -5
        here.session.submit()
    (submission,) = here.server.submissions
    kinds = {kind.id: kind.priority for kind in submission.task_kinds}
    assert [kinds[kind] for kind in submission.tasks.kinds] == [0, -5]
    assert "priority" not in plain.spec.to_json()
    assert urgent.spec.to_json()["priority"] == -5


@pytest.mark.parametrize("priority", [1001, -1001, "high", 1.5, True, None, 10**30])
def test_a_priority_that_makes_no_sense_is_refused_by_name(session: Session, priority: Any) -> None:
    said = r"priority is .*; it must be a whole number from -1000 to 1000"
    with pytest.raises(RainException, match=f"^buildin/run: {said}"):
        Execute("true", priority=priority)
    with pytest.raises(RainException, match=f"^_nothing: {said}"):
        remote(priority=priority)(_nothing)
    with pytest.raises(RainException, match=f"^urgent: {said}"):
        Options.of(name="urgent", priority=priority)
