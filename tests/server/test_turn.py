"""The turn, in the order in which it is made."""

from __future__ import annotations

from attrs import evolve

from rain.base.ids import GovernorId
from rain.base.states import ObjectState, TaskRow, TaskState
from rain.base.wire.answers import WaitAnswer
from rain.base.wire.orders import AssignedTasks
from rain.base.wire.requests import Submit, WaitFor
from rain.scheduler.throttle import Thresholds
from rain.server.core.messages import (
    Answered,
    Asked,
    GovernorUpdated,
    Granted,
    OrderGovernor,
    TurnInput,
)
from tests.support.scenes import SELDOM, orders_in, scene

LARGE = 100_000


def test_a_finished_task_vacates_its_governors_resources() -> None:
    # given: a governor with two cpus that runs one task of two
    s = scene(2)
    task, _ = s.draft.task(cpus=2)
    s.submit()
    s.assign(task)
    s.governors[0].start(task)
    assert s.node(0).active_cpus == 2

    # when
    s.governors[0].finish(task)

    # then
    assert s.node(0).active_cpus == 0
    assert not s.node(0).assigned
    assert not s.node(0).scheduled
    assert s.world.task(task).state is TaskState.FINISHED


def test_a_task_that_has_started_is_running() -> None:
    # given
    s = scene(1)
    task, _ = s.draft.task()
    s.submit()
    s.assign(task)

    # when
    effects = s.governors[0].start(task)

    # then
    assert s.world.task(task).state is TaskState.RUNNING
    assert s.world.task(task).started == s.world.now
    assert effects == []


def test_finished_objects_leave_the_needs_of_their_consumers() -> None:
    # given: a consumer of two objects
    s = scene(1)
    first, (a,) = s.draft.task()
    second, (b,) = s.draft.task()
    consumer, _ = s.draft.task(a, b)
    s.submit()
    s.assign(first, second)

    # when / then: one after the other is finished
    s.governors[0].finish(first)
    assert s.world.task(consumer).missing == 1
    assert s.world.task(consumer).state is TaskState.NOT_ASSIGNED
    s.governors[0].finish(second)
    assert s.world.task(consumer).missing == 0
    assert s.world.task(consumer).state is TaskState.READY


def test_an_input_that_is_named_twice_is_needed_once() -> None:
    s = scene(1)
    producer, (a,) = s.draft.task()
    consumer, _ = s.draft.task(a, a)
    s.submit()
    assert s.world.task(consumer).missing == 1
    assert s.world.object(a).needed_by == 1
    s.run(producer)
    s.run(consumer)
    assert s.world.object(a).state is ObjectState.REMOVED


def test_a_planned_task_is_sent_in_the_turn_in_which_it_becomes_ready() -> None:
    # given: a planned chain over two governors, and a scheduler that is not due for a long time
    s = scene(1, 1, settings=SELDOM)
    first, (a,) = s.draft.task()
    second, (b,) = s.draft.task(a, keep=True)
    s.scripted.script += [s.assigning(first), s.assigning(second, to=1)]
    s.world.now += 1e7
    s.submit()
    runs = len(s.scripted.heard)
    assert s.world.task(second).row is TaskRow.PLANNED

    # when
    effects = s.governors[0].finish(first)

    # then: the whole turn is one batch with the second task, and where its input is
    (effect,) = effects
    assert isinstance(effect, OrderGovernor)
    assert effect.governor == GovernorId(2)
    kind = s.world.task(second).kind.id
    assert effect.orders.tasks == AssignedTasks([second], [1], [kind], [0], [b""], [1], [a], [b])
    assert effect.orders.objects.ids == [a]
    assert effect.orders.objects.sources == [s.governors[0].source]
    assert len(s.scripted.heard) == runs


def test_a_ready_task_that_nobody_planned_waits_for_the_scheduler() -> None:
    # given
    s = scene(1, settings=SELDOM)
    task, _ = s.draft.task()
    s.submit()
    effects = s.world.turn()

    # then
    assert effects == []
    assert s.world.task(task).row is TaskRow.READY

    # when: it is due at last
    s.scripted.script.append(s.assigning(task))
    effects = s.world.turn(after=1e7)

    # then
    assert orders_in(effects)[GovernorId(1)].tasks.ids == [task]


def test_governors_are_heard_before_clients_and_the_scheduler_runs_after_both() -> None:
    # given: a running task
    s = scene(1)
    first, _ = s.draft.task()
    s.submit()
    s.assign(first)
    second, _ = s.draft.task()
    request, wait = s.world.request(), s.world.request()
    given = TurnInput(s.world.now + 1)
    given.from_governors.append(GovernorUpdated(GovernorId(1), s.governors[0].finished(first)))
    given.from_clients += [
        Asked(s.client.id, wait, WaitFor(s.draft.session, (first,), (), "all")),
        Asked(s.client.id, request, Submit(s.draft.take())),
    ]
    s.scripted.script.append(s.assigning(second))

    # when: it finishes in the turn in which a client waits for it and submits another one
    effects = s.world.run(given)

    # then: the new task is on its way, the wait is over at once, and governors hear before clients
    assert orders_in(effects[:1])[GovernorId(1)].tasks.ids == [second]
    assert effects[1:] == [Answered(wait, WaitAnswer([first])), Granted(request)]
    news = s.scripted.heard[-1]
    assert [task.id for task in news.finished] == [first]
    assert [task.id for task in news.submitted] == [second]


def test_a_turn_in_which_nothing_happens_has_no_effects() -> None:
    s = scene(1)
    task, _ = s.draft.task()
    s.submit()
    s.assign(task)
    assert s.world.turn() == []


def test_the_next_turn_is_due_when_the_scheduler_is_or_a_governor_may_be_silent_for_too_long() -> (
    None
):
    # given: a scheduler that is due soon, and a patient server
    s = scene(1)
    # when / then
    s.world.reactor.turn(TurnInput(s.world.now + 0.1))
    assert s.world.reactor.next_time() == s.world.now + Thresholds().nothing

    # given: a scheduler that is seldom due, and a server that wants to hear something
    s = scene(1, settings=evolve(SELDOM, governor_silence=5.0))
    # when / then: the governor was last heard when it joined
    s.world.reactor.turn(TurnInput(s.world.now + 0.1))
    assert s.world.reactor.next_time() == s.node(0).heard + 5.0


def test_what_tasks_have_shown_is_learned_behind_the_turn() -> None:
    # given: a scheduler that is not due
    s = scene(1, settings=SELDOM)
    task, _ = s.draft.task()
    s.submit()
    s.world.state.throttle.rests_until = float("-inf")
    s.assign(task)
    session = s.world.state.graph.sessions[s.draft.session]
    learned = session.learned[s.world.task(task).kind.id]
    # when / then: who waits for the result does not wait for that
    s.governors[0].finish(task)
    assert learned.finished == 0
    # when / then
    s.world.reactor.settle()
    assert learned.finished == 1


def test_a_scheduler_has_learned_of_all_that_has_finished_whether_turns_were_settled_or_not() -> (
    None
):
    # given
    s = scene(1)
    task, _ = s.draft.task()
    s.submit()
    s.assign(task)
    seen: list[float | None] = []
    # when: it is due in the turn in which the task has finished
    s.scripted.script.append(lambda plan: seen.append(plan.estimates.all_tasks.mean_seconds))
    s.governors[0].finish(task)
    # then
    assert seen == [0.5]
