"""A task that is tried again finds results of its former run, and never another one's."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rain.base.failures import OnFailure, SessionFailure
from rain.base.ids import TaskId
from rain.base.runs import RunCause
from rain.base.states import ObjectState, TaskRow
from rain.base.wire.answers import WaitAnswer
from rain.graph.standing_in import stands_in
from rain.server.core.messages import Refuse
from tests.support.fake_client import answer_of
from tests.support.families import (
    Family,
    at_work,
    executor_died,
    governor_lost,
    lost_after,
    next_run,
)
from tests.support.submissions import Draft


def its_client_first(family: Family) -> None:
    family.client.leave()
    executor_died(family)


ENDS = [governor_lost, executor_died, its_client_first]


@pytest.mark.parametrize("end", ENDS)
def test_what_the_same_task_has_made_need_not_be_made_again(
    end: Callable[[Family], None],
) -> None:
    # given: one has finished, one reads its result, one has not finished
    family = Family()
    first, a = family.submit(family.draft, b"first")
    second, _ = family.submit(family.draft, b"second", a)
    open_one, _ = family.submit(family.draft, b"open")
    family.client.submit(family.draft)
    family.finish(first, b"made of first")
    family.finish(second, b"made of second")
    assert family.row(open_one) is not TaskRow.FINISHED

    # when
    end(family)
    family.s.world.turn()
    client, draft = family.begin(1)
    first, a = family.submit(draft, b"first")
    second, b = family.submit(draft, b"second", a)
    open_one, _ = family.submit(draft, b"open")
    client.submit(draft)

    # then
    assert [family.row(first), family.row(second)] == [TaskRow.FINISHED] * 2
    assert [family.data(a), family.data(b)] == [b"made of first", b"made of second"]
    assert family.row(open_one) is not TaskRow.FINISHED
    request = client.wait(draft.session, first, second)
    answer = family.s.world.answers[request]
    assert answer_of(answer, WaitAnswer).delivery.data == [b"made of first", b"made of second"]


def test_a_task_without_outputs_that_had_finished_is_not_run_again() -> None:
    family = Family()

    def submit(draft: Draft) -> list[TaskId]:
        _, made = family.submit(draft, b"source")
        return [draft.task(made, outputs=0, config=config)[0] for config in (b"a", b"b")]

    first, _ = submit(family.draft)
    family.client.submit(family.draft)
    source = family.s.world.task(first).inputs[0].producer
    assert source is not None
    at_work(family, source.id).finish(source.id, size=100_000)
    at_work(family, first).finish(first)
    client, draft = next_run(family)
    ended, open_one = submit(draft)
    client.submit(draft)
    assert family.row(ended) is TaskRow.FINISHED
    assert family.row(open_one) is not TaskRow.FINISHED
    family.s.governors[1].finish(family.parent)
    family.s.world.turn()


def test_a_result_that_only_a_governor_has_need_not_be_made_again() -> None:
    family = Family()
    first, _ = family.submit(family.draft, b"first")
    family.client.submit(family.draft)
    at_work(family, first).finish(first, size=1_000_000)
    client, draft = next_run(family)
    again, made = family.submit(draft, b"first")
    client.submit(draft)
    task = family.s.world.task(again)
    assert stands_in(task)
    at_work(family, again).finish(again, size=1_000_000)
    assert (family.row(again), family.s.world.object(made).size) == (TaskRow.FINISHED, 1_000_000)


def test_what_still_runs_goes_on_and_is_what_the_next_run_gets() -> None:
    # given
    family = Family()
    open_one, _ = family.submit(family.draft, b"open")
    family.client.submit(family.draft)
    at = at_work(family, open_one)
    at.start(open_one)

    # when
    client, draft = next_run(family)
    assert family.row(open_one) is TaskRow.RUNNING
    again, made = family.submit(draft, b"open")
    reader, _ = family.submit(draft, b"reads", made)
    client.submit(draft)
    at.finish(open_one, data=b"of the first run")
    at_work(family, again).finish(again, data=b"of the first run")

    # then
    assert [family.row(again), family.data(made)] == [TaskRow.FINISHED, b"of the first run"]
    assert family.row(reader) is TaskRow.ASSIGNED
    assert open_one not in family.s.world.state.graph.tasks, "its session has ended with it"


def test_what_the_next_run_does_not_ask_for_ends_with_the_task() -> None:
    family = Family()
    open_one, _ = family.submit(family.draft, b"open")
    family.client.submit(family.draft)
    at = at_work(family, open_one)
    at.start(open_one)
    next_run(family)
    assert family.row(open_one) is TaskRow.RUNNING
    family.s.governors[1].finish(family.parent)
    family.s.world.turn()
    assert family.row(open_one) is TaskRow.CANCELLING
    at.end(open_one)
    family.s.world.turn()
    assert list(family.s.world.state.graph.sessions) == [family.s.draft.session]


def test_to_cancel_what_was_found_cancels_what_still_runs() -> None:
    family = Family()
    open_one, _ = family.submit(family.draft, b"open")
    family.client.submit(family.draft)
    at_work(family, open_one).start(open_one)
    client, draft = next_run(family)
    again, _ = family.submit(draft, b"open")
    client.submit(draft)
    client.cancel(draft.session, again, always=True)
    family.s.world.turn()
    assert family.row(open_one) is TaskRow.CANCELLING


def test_what_has_failed_meanwhile_is_made_again() -> None:
    family = Family()
    open_one, _ = family.submit(family.draft, b"open")
    family.client.submit(family.draft)
    at = at_work(family, open_one)
    at.start(open_one)
    executor_died(family)
    at.fail(open_one)
    family.s.world.turn()
    client, draft = family.begin(1)
    again, _ = family.submit(draft, b"open")
    client.submit(draft)
    assert not stands_in(family.s.world.task(again))
    family.s.governors[1].finish(family.parent)
    family.s.world.turn()
    assert list(family.s.world.state.graph.sessions) == [family.s.draft.session]


@pytest.mark.parametrize("on_failure", OnFailure)
def test_what_was_found_fails_as_what_it_stands_for_and_with_the_same_words(
    on_failure: OnFailure,
) -> None:
    # given
    family = Family()
    open_one, _ = family.submit(family.draft, b"open")
    family.client.submit(family.draft)
    at = at_work(family, open_one)
    at.start(open_one)
    executor_died(family)
    family.s.world.turn()
    family.s.assign(family.parent, to=1)
    family.s.governors[1].start(family.parent)
    client = family.s.world.client()
    draft = client.session(on_failure=on_failure, parent=family.parent)
    again, _ = family.submit(draft, b"open")
    client.submit(draft)
    request = client.wait(draft.session, again)

    # when
    at.fail(open_one, "it broke in the first run")

    # then
    refused = family.s.world.answers[request]
    assert isinstance(refused, Refuse)
    assert isinstance(refused.reason, SessionFailure)
    assert refused.reason.message == "it broke in the first run"
    session = family.s.world.state.graph.sessions[draft.session]
    assert (session.failure is not None) == (on_failure is OnFailure.STOP)


def test_a_task_whose_time_was_over_finds_what_was_made_and_not_what_still_ran() -> None:
    family = Family()
    first, _ = family.submit(family.draft, b"first")
    open_one, _ = family.submit(family.draft, b"open")
    family.client.submit(family.draft)
    family.finish(first, b"1")
    at_work(family, open_one).start(open_one)
    family.s.governors[0].fail(family.parent, cause=RunCause.TIMEOUT)
    family.s.world.turn()
    client, draft = family.begin(1)
    first, made = family.submit(draft, b"first")
    again, _ = family.submit(draft, b"open")
    client.submit(draft)
    assert family.data(made) == b"1"
    assert not stands_in(family.s.world.task(again))


def test_a_third_run_finds_what_still_runs_since_the_first() -> None:
    family = Family(tries=3)
    open_one, _ = family.submit(family.draft, b"open")
    family.client.submit(family.draft)
    at = at_work(family, open_one)
    at.start(open_one)
    client, draft = next_run(family)
    second, _ = family.submit(draft, b"open")
    client.submit(draft)
    family.s.governors[1].fail(family.parent, cause=RunCause.EXECUTOR)
    place = family.s.governors.index(at_work(family, family.parent))
    client, draft = family.begin(place)
    third, _ = family.submit(draft, b"open")
    client.submit(draft)
    inputs = family.s.world.task(third).inputs
    assert [one.producer for one in inputs] == [family.s.world.task(open_one)]
    family.s.world.turn()
    assert family.s.world.task(second).has_failed, "nobody needs what it would pass on"


def test_a_task_that_has_failed_by_itself_finds_nothing() -> None:
    family = Family()
    task, _ = family.submit(family.draft, b"first")
    family.client.submit(family.draft)
    family.finish(task, b"1")
    family.client.leave()
    family.s.governors[0].fail(family.parent)
    family.s.world.turn()
    assert not family.s.world.state.nested.held
    client, draft = family.begin(1)
    task, _ = family.submit(draft, b"first")
    client.submit(draft)
    assert family.row(task) is not TaskRow.FINISHED


def test_a_third_run_finds_what_both_before_it_have_made() -> None:
    family = Family()
    client, draft = lost_after(family, (b"first", b"1"))
    family.submit(draft, b"first")
    later, _ = family.submit(draft, b"later")
    client.submit(draft)
    family.finish(later, b"2")
    family.s.governors[1].leave()
    family.s.governors.append(family.s.world.governor(4))
    client, draft = family.begin(2)
    both = [family.submit(draft, config) for config in (b"first", b"later")]
    client.submit(draft)
    assert [family.data(made) for _, made in both] == [b"1", b"2"]


@pytest.mark.parametrize("end", ["finished", "cancelled"])
def test_nothing_is_kept_when_the_task_has_ended(end: str) -> None:
    family = Family()
    lost_after(family, (b"first", b"1"))
    assert family.s.world.state.nested.held
    if end == "finished":
        family.s.governors[1].finish(family.parent)
    else:
        family.s.client.cancel(family.s.draft.session, family.parent, always=True)
    family.s.world.turn()
    assert not family.s.world.state.nested.held


def test_a_task_whose_result_was_kept_may_have_readers_at_once_and_later() -> None:
    family = Family()
    client, draft = lost_after(family, (b"first", b"1"))
    first, a = family.submit(draft, b"first")
    at_once, _ = family.submit(draft, b"reads", a)
    client.submit(draft)
    later, _ = family.submit(draft, b"reads too", a)
    client.submit(draft)
    assert family.row(first) is TaskRow.FINISHED
    assert family.s.world.object(a).state is ObjectState.FINISHED
    for reader in (at_once, later):
        family.finish(reader, b"x")
        assert family.row(reader) is TaskRow.FINISHED
