"""A task that is tried again finds results of its former run, and never another one's."""

from __future__ import annotations

from collections.abc import Callable

import msgpack
import pytest

from rain.base.failures import OnFailure, SessionFailure
from rain.base.ids import ObjectId, TaskId
from rain.base.runs import RunCause
from rain.base.states import ObjectState, TaskRow
from rain.base.units import BEFORE, UNIT
from rain.base.wire import INLINE_LIMIT
from rain.base.wire.answers import WaitAnswer
from rain.common.sameness import place_of
from rain.graph.standing_in import stands_in
from rain.server.messages import Refuse
from tests.support.fake_client import FakeClient, answer_of
from tests.support.fake_governor import FakeGovernor
from tests.support.scenes import scene
from tests.support.submissions import Draft
from tests.support.world import CLUSTER


class Family:
    """A parent on the first of two governors, and what each of its runs submits."""

    def __init__(self, tries: int = 2) -> None:
        self.s = scene(4, 4, on_failure=OnFailure.CONTINUE)
        self.parent, _ = self.s.draft.task(tries=tries)
        self.s.submit()
        self.client, self.draft = self.begin(0)

    def begin(self, on: int) -> tuple[FakeClient, Draft]:
        """A run of the parent starts on a governor, and its client opens a session."""
        s = self.s
        s.assign(self.parent, to=on)
        s.governors[on].start(self.parent)
        client = s.world.client()
        return client, client.session(on_failure=OnFailure.CONTINUE, parent=self.parent)

    def submit(self, draft: Draft, config: bytes, *inputs: ObjectId) -> tuple[TaskId, ObjectId]:
        task, (made,) = draft.task(*inputs, config=config, keep=True)
        return task, made

    def finish(self, task: TaskId, data: bytes) -> None:
        """Whichever governor it is on."""
        self.s.world.turn()
        (at,) = [one for one in self.s.governors if task in one.tasks]
        at.finish(task, data=data)

    def row(self, task: TaskId) -> TaskRow:
        return self.s.world.task(task).row

    def data(self, made: ObjectId) -> bytes | None:
        return self.s.world.object(made).data


def governor_lost(family: Family) -> None:
    family.s.world.governors[0].leave()


def executor_died(family: Family) -> None:
    family.s.governors[0].fail(family.parent, cause=RunCause.EXECUTOR)


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


def test_futures_inside_of_arguments_are_compared_by_what_makes_them() -> None:
    # given: two tasks, and a task that was told where both are
    family = Family()

    def total(draft: Draft, *configs: bytes) -> TaskId:
        made = [family.submit(draft, config)[1] for config in configs]
        places = [place_of(CLUSTER, one) for one in made]
        task, _ = family.submit(draft, b"total of " + b" and ".join(places))
        draft.contain(task, *made)
        return task

    first = total(family.draft, b"one", b"other")
    family.client.submit(family.draft)
    family.finish(first, b"3")

    # when
    client, draft = next_run(family)
    draft.task(config=b"something else")  # so that all have other numbers
    swapped = total(draft, b"other", b"one")
    again = total(draft, b"one", b"other")
    client.submit(draft)

    # then
    assert family.row(again) is TaskRow.FINISHED
    assert family.row(swapped) is not TaskRow.FINISHED


def test_a_constant_with_futures_inside_is_compared_by_what_makes_these() -> None:
    family = Family()

    def read(draft: Draft, config: bytes) -> TaskId:
        _, made = family.submit(draft, config)
        inner = draft.constant(place_of(CLUSTER, made), keep=True)
        draft.contain(inner, made)
        box = draft.constant(place_of(CLUSTER, inner), keep=True)
        draft.contain(box, inner)
        return family.submit(draft, b"read", box)[0]

    first = read(family.draft, b"one")
    family.client.submit(family.draft)
    family.finish(first, b"1")
    client, draft = next_run(family)
    other, again = read(draft, b"other"), read(draft, b"one")
    client.submit(draft)
    assert family.row(again) is TaskRow.FINISHED
    assert family.row(other) is not TaskRow.FINISHED


def test_large_constants_are_compared_by_what_their_clients_have_told() -> None:
    family = Family()
    data = bytes(INLINE_LIMIT + 1)
    given = family.draft.constant(data, keep=True, digest=b"the same")
    first, _ = family.submit(family.draft, b"read", given)
    family.client.submit(family.draft)
    family.finish(first, b"1")
    client, draft = next_run(family)
    chosen = [draft.constant(data, digest=digest) for digest in (b"", b"another", b"the same")]
    silent, other, again = [family.submit(draft, b"read", one)[0] for one in chosen]
    client.submit(draft)
    assert family.row(again) is TaskRow.FINISHED
    assert TaskRow.FINISHED not in {family.row(silent), family.row(other)}


def test_a_digest_of_anything_but_a_new_file_is_refused() -> None:
    family = Family()
    small = family.draft.constant(b"small")
    family.draft.submission.digests.ids.append(small)
    family.draft.submission.digests.digests.append(b"digest")
    refused = family.client.submit(family.draft)
    assert isinstance(refused, Refuse)
    assert "has a digest, but no file" in str(refused.reason)


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


def lost_after(family: Family, *made: tuple[bytes, bytes]) -> tuple[FakeClient, Draft]:
    """The parent has made these results when its governor is lost; its next run has begun."""
    tasks = [(family.submit(family.draft, config)[0], data) for config, data in made]
    family.client.submit(family.draft)
    for task, data in tasks:
        family.finish(task, data)
    governor_lost(family)
    family.s.world.turn()
    return family.begin(1)


def test_what_is_not_the_same_is_made() -> None:
    family = Family()
    client, draft = lost_after(family, (b"first", b"1"))
    other, _ = family.submit(draft, b"other")
    two, _ = draft.task(config=b"first", outputs=2)
    client.submit(draft)
    assert TaskRow.FINISHED not in {family.row(other), family.row(two)}


def test_what_reads_another_constant_is_made() -> None:
    family = Family()
    given = family.draft.constant(b"old", keep=True)
    task, _ = family.submit(family.draft, b"f", given)
    family.client.submit(family.draft)
    family.finish(task, b"of old")
    governor_lost(family)
    family.s.world.turn()
    client, draft = family.begin(1)
    new, _ = family.submit(draft, b"f", draft.constant(b"new"))
    old, made = family.submit(draft, b"f", draft.constant(b"old"))
    client.submit(draft)
    assert family.row(new) is not TaskRow.FINISHED
    assert (family.row(old), family.data(made)) == (TaskRow.FINISHED, b"of old")


def test_equal_tasks_have_results_of_their_own_in_their_order() -> None:
    family = Family()
    client, draft = lost_after(family, (b"draw", b"1"), (b"draw", b"2"))
    drawn = [family.submit(draft, b"draw") for _ in range(3)]
    client.submit(draft)
    assert [family.data(made) for _, made in drawn] == [b"1", b"2", None]


def next_run(family: Family) -> tuple[FakeClient, Draft]:
    """The executor of the parent has died, and its next run begins."""
    executor_died(family)
    family.s.world.turn()
    return family.begin(1)


def at_work(family: Family, task: TaskId) -> FakeGovernor:
    """The governor that runs a task."""
    family.s.world.turn()
    (at,) = [one for one in family.s.governors if task in one.tasks]
    return at


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


def test_a_task_with_several_outputs_is_found_with_all_of_them() -> None:
    family = Family()
    family.draft.task(outputs=2, keep=True, config=b"both")
    family.client.submit(family.draft)
    client, draft = next_run(family)
    task, _ = draft.task(outputs=2, keep=True, config=b"both")
    client.submit(draft)
    assert stands_in(family.s.world.task(task))


def test_what_reads_an_object_of_another_session_is_the_same_for_the_same_object() -> None:
    family = Family()
    source, (given,) = family.s.draft.task(keep=True, config=b"source")
    other, (stranger,) = family.s.draft.task(keep=True, config=b"source")
    family.s.submit()
    family.submit(family.draft, b"f", given)
    family.client.submit(family.draft)
    client, draft = next_run(family)
    first, _ = family.submit(draft, b"f", stranger)
    second, _ = family.submit(draft, b"f", given)
    client.submit(draft)
    assert not stands_in(family.s.world.task(first))
    assert stands_in(family.s.world.task(second))
    assert family.row(source) is family.row(other) is TaskRow.READY


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
    assert not family.s.world.state.held
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
    assert family.s.world.state.held
    if end == "finished":
        family.s.governors[1].finish(family.parent)
    else:
        family.s.client.cancel(family.s.draft.session, family.parent, always=True)
    family.s.world.turn()
    assert not family.s.world.state.held


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


def a_unit(draft: Draft, *calls: bytes, bad: bytes = b"") -> tuple[TaskId, ObjectId]:
    """A fused chain of these calls, whose inner tasks and objects have ids of their own."""
    rows: list[list[object]] = []
    for place in range(len(calls)):
        before = [BEFORE] if place else []
        rows.append([draft.next_id(), 0, place, before, [draft.next_id()]])
    described = {"kinds": [], "objects": [], "configs": [*calls], "calls": rows}
    config = bad or msgpack.packb(described)
    task, (made,) = draft.task(config=config, keep=True, task_type=UNIT)
    return task, made


def test_a_fused_chain_is_the_same_whatever_the_ids_inside_of_it() -> None:
    # given
    family = Family()
    finished, _ = a_unit(family.draft, b"one", b"two")
    nonsense, _ = a_unit(family.draft, bad=b"\xc1")
    family.client.submit(family.draft)
    family.finish(finished, b"made of both")
    family.finish(nonsense, b"made of nonsense")

    # when
    executor_died(family)
    family.s.world.turn()
    client, draft = family.begin(1)
    other, _ = a_unit(draft, b"one", b"three")
    same, made = a_unit(draft, b"one", b"two")
    again, _ = a_unit(draft, bad=b"\xc1")
    longer, _ = a_unit(draft, b"one", b"two", b"two")
    client.submit(draft)

    # then
    assert [family.row(task) is TaskRow.FINISHED for task in (other, same, again, longer)] == [
        False,
        True,
        True,
        False,
    ]
    assert family.data(made) == b"made of both"
