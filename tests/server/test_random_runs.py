"""Random runs: whatever happens in whatever order, every invariant holds after every turn."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from rain.base.attempts import Attempts
from rain.base.exchange import EXCHANGE
from rain.base.ids import ObjectId, RequestId, TaskId
from rain.base.runs import RunCause
from rain.base.states import TaskState
from rain.base.wire.requests import Fetch, WaitFor
from rain.base.wire.update import Update
from rain.graph import check
from rain.server.core.messages import Asked, GovernorUpdated, Granted, RequestAbandoned
from tests.support.effort import examples
from tests.support.fake_client import FakeClient
from tests.support.machine import ComingAndGoing, seldom, some, which


@st.composite
def task_shapes(draw: st.DrawFn) -> tuple[list[int], int, int, int, int, bool]:
    """Inputs (some twice), number of outputs, cpus, a mask of the outputs to keep, tries, and
    whether the task may run twice at a time."""
    inputs = draw(st.lists(which, max_size=3))
    twice = draw(seldom)
    if twice:
        inputs += inputs[:1]
    outputs = draw(st.sampled_from([1, 2, 3, 0]))
    cpus, kept = draw(st.sampled_from([1, 0, 2, 4])), draw(st.integers(0, 7))
    return inputs, outputs, cpus, kept, draw(st.sampled_from([1, 2, 3])), draw(st.booleans())


CAUSES = [None, RunCause.TASK, RunCause.EXECUTOR, RunCause.INPUT_LOST]


class RandomRuns(ComingAndGoing):
    """Everybody does anything at any time, within what the protocol allows."""

    def __init__(self) -> None:
        super().__init__()
        self.cancelled: set[TaskId] = set()  # those that anybody has ever cancelled

    # What clients ask.

    @precondition(ComingAndGoing.has_sessions)
    @rule(
        number=which,
        shapes=st.lists(task_shapes(), min_size=1, max_size=6),
        constants=st.lists(st.tuples(st.sampled_from([0, 5, 20_000]), st.booleans()), max_size=2),
    )
    def submit(
        self,
        number: int,
        shapes: list[tuple[list[int], int, int, int, int, bool]],
        constants: list[tuple[int, bool]],
    ) -> None:
        session = self.session(number)
        draft = session.draft
        usable = self.wild.kept_in(session)
        for size, keep in constants:
            usable.append(draft.constant(bytes(size), keep=keep))
            session.objects.append(usable[-1])
            if keep:
                session.kept.append(usable[-1])
        for inputs, outputs, cpus, kept, tries, idempotent in shapes:
            chosen = [usable[i % len(usable)] for i in inputs] if usable else []
            attempts = Attempts(tries, backoff=2.5 if tries == 3 else 0.0)
            task, made = draft.task(
                *chosen,
                outputs=outputs,
                cpus=cpus,
                tries=attempts,
                priority=kept % 3 - 1,
                idempotent=idempotent,
            )
            keep_these = [o for bit, o in enumerate(made) if kept >> bit & 1]
            draft.submission.kept += keep_these
            session.tasks.append(task)
            session.objects += made
            session.kept += keep_these
            usable += made
        session.client.submit(draft)

    @precondition(ComingAndGoing.has_sessions)
    @rule(number=which, pieces=st.integers(1, 3), readers=st.integers(0, 3), more=st.booleans())
    def shuffle(self, number: int, pieces: int, readers: int, more: bool) -> None:
        """Some tasks, of which an exchange lists what they make, and the tasks that read its list.

        The exchange may read what was kept before, too.
        """
        session = self.session(number)
        draft = session.draft
        earlier = self.wild.kept_in(session)[:1] if more else []
        split = [draft.task() for _ in range(pieces)]
        listed = [*earlier, *[one for _, (one,) in split]]
        exchange = draft.task(*listed, cpus=0, task_type=EXCHANGE)
        merge = [draft.task(*exchange[1], keep=True) for _ in range(readers)]
        for task, made in (*split, exchange, *merge):
            session.tasks.append(task)
            session.objects += made
        session.kept += [one for _, made in merge for one in made]
        session.client.submit(draft)

    @precondition(ComingAndGoing.has_sessions)
    @rule(number=which, outputs=st.integers(0, 2), size=st.sampled_from([7, 50_000]))
    def a_task_is_late(self, number: int, outputs: int, size: int) -> None:
        """Others of its name have finished for a while."""
        session = self.session(number)
        data = session.draft.constant(b"read by all of them")
        made = [session.draft.task(data, outputs=outputs, idempotent=True) for _ in range(3)]
        session.tasks += [task for task, _ in made]
        session.objects += [data, *[one for _, ones in made for one in ones]]
        session.client.submit(session.draft)
        self.wild.deliver_all()
        slow, *others = [task for task, _ in made]
        for governor in list(self.world.governors):
            runnable = governor.runnable()
            over = [task for task in others if task in runnable]
            update = governor.finished(*over, size=size)
            if slow in runnable:
                update.started_ids, update.started_runs = [slow], [governor.tasks[slow]]
            self.wild.post(governor, update)
        self.wild.deliver_all()
        self.world.turn(after=5)

    @precondition(ComingAndGoing.has_sessions)
    @rule(number=which, kept=some)
    def unkeep(self, number: int, kept: list[int]) -> None:
        session = self.session(number)
        if session.kept:
            objects = {session.kept[i % len(session.kept)] for i in kept}
            session.client.unkeep(*sorted(objects))
            session.kept = [o for o in session.kept if o not in objects]

    @precondition(ComingAndGoing.has_sessions)
    @rule(number=which, objects=some, keep=st.booleans())
    def take_handles(self, number: int, objects: list[int], keep: bool) -> None:
        session = self.session(number)
        known = [o for one in self.wild.sessions if one.id == session.id for o in one.objects]
        if known:
            taken = {known[i % len(known)] for i in objects}
            answer = session.client.take(*sorted(taken), keep=keep)
            if isinstance(answer, Granted):
                session.objects += sorted(taken.difference(session.objects))
                session.kept += sorted(taken.difference(session.kept)) if keep else []

    @precondition(ComingAndGoing.has_sessions)
    @rule(number=which, tasks=some, objects=some)
    def drop_handles(self, number: int, tasks: list[int], objects: list[int]) -> None:
        session = self.session(number)
        ids = {session.tasks[i % len(session.tasks)] for i in tasks if session.tasks}
        data = {session.objects[i % len(session.objects)] for i in objects if session.objects}
        session.tasks = [task for task in session.tasks if task not in ids]
        session.objects = [one for one in session.objects if one not in data]
        session.kept = [one for one in session.kept if one not in data]
        session.client.drop(*sorted(ids), objects=tuple(sorted(data)))

    @precondition(ComingAndGoing.has_sessions)
    @rule(number=which, tasks=some, objects=some, mode=st.sampled_from(["all", "some", "session"]))
    def wait(self, number: int, tasks: list[int], objects: list[int], mode: str) -> None:
        session = self.session(number)
        if session.tasks:
            ids = tuple(session.tasks[i % len(session.tasks)] for i in tasks)
            data = tuple(
                session.objects[i % len(session.objects)] for i in objects if session.objects
            )
            request = self.world.request()
            self.wild.waiting[request] = session.client
            self.world.turn(Asked(session.client.id, request, WaitFor(session.id, ids, data, mode)))

    @precondition(ComingAndGoing.has_sessions)
    @rule(number=which, index=which)
    def fetch(self, number: int, index: int) -> None:
        session = self.session(number)
        if session.objects:
            request = self.world.request()
            self.wild.waiting[request] = session.client
            wanted = session.objects[index % len(session.objects)]
            self.world.turn(Asked(session.client.id, request, Fetch(wanted)))

    @precondition(lambda self: self.wild.waiting)
    @rule(index=which)
    def abandon(self, index: int) -> None:
        requests = list(self.wild.waiting)
        request = requests[index % len(requests)]
        client = self.wild.waiting.pop(request)
        if client in self.world.clients:
            self.world.turn(RequestAbandoned(client.id, request))

    # What governors do and say.

    @precondition(ComingAndGoing.has_governors)
    @rule(number=which, tasks=some, now=st.booleans())
    def tasks_start(self, number: int, tasks: list[int], now: bool) -> None:
        governor = self.governor(number)
        runnable = governor.runnable()
        chosen = list(dict.fromkeys(runnable[i % len(runnable)] for i in tasks if runnable))
        self.report(
            governor,
            Update(started_ids=chosen, started_runs=[governor.tasks[t] for t in chosen]),
            now,
        )

    @precondition(ComingAndGoing.has_governors)
    @rule(
        number=which,
        tasks=st.lists(which, min_size=1, max_size=4),
        size=st.sampled_from([0, 7, 50_000]),
        inline=st.booleans(),
        now=st.booleans(),
    )
    def tasks_finish(
        self, number: int, tasks: list[int], size: int, inline: bool, now: bool
    ) -> None:
        governor = self.governor(number)
        runnable = governor.runnable()
        chosen = list(dict.fromkeys(runnable[i % len(runnable)] for i in tasks if runnable))
        data = bytes(size) if inline else None
        self.report(governor, governor.finished(*chosen, size=size, data=data), now)

    @precondition(ComingAndGoing.has_governors)
    @rule(number=which, index=which, now=st.booleans(), cause=st.sampled_from(CAUSES))
    def a_task_fails(self, number: int, index: int, now: bool, cause: RunCause | None) -> None:
        governor = self.governor(number)
        runnable = governor.runnable()
        if runnable and cause is not None:
            failed = governor.failed(runnable[index % len(runnable)], cause=cause)
            self.report(governor, failed, now)

    @precondition(ComingAndGoing.has_governors)
    @rule(number=which, index=which, now=st.booleans())
    def a_task_waits_for_others_or_goes_on(self, number: int, index: int, now: bool) -> None:
        governor = self.governor(number)
        runnable = governor.runnable()
        if not runnable:
            return
        task = runnable[index % len(runnable)]
        if task in governor.blocked:
            self.report(governor, governor.resumed(task), now)
        else:
            update, started = governor.waiting(task), governor.started(task)
            update.started_ids, update.started_runs = started.started_ids, started.started_runs
            self.report(governor, update, now)

    @precondition(ComingAndGoing.has_sessions)
    @rule(number=which, tasks=some, objects=some, always=st.booleans(), whole=seldom)
    def cancel(
        self, number: int, tasks: list[int], objects: list[int], always: bool, whole: bool
    ) -> None:
        session = self.session(number)
        ids = [session.tasks[i % len(session.tasks)] for i in tasks if session.tasks]
        data = [session.objects[i % len(session.objects)] for i in objects if session.objects]
        session.client.cancel(session.id, *ids, objects=tuple(data), whole=whole, always=always)

    @precondition(ComingAndGoing.has_governors)
    @rule(number=which, now=st.booleans())
    def what_was_cancelled_ends(self, number: int, now: bool) -> None:
        governor = self.governor(number)
        if governor.cancelled:
            self.report(governor, governor.ended(*governor.cancelled), now)

    @invariant()
    def what_was_cancelled_stays_so(self) -> None:
        if not hasattr(self, "wild"):
            return
        tasks = self.world.state.graph.tasks
        cancelled = {task.id for task in tasks.values() if task.state is TaskState.CANCELLED}
        living = {task_id for task_id in self.cancelled if task_id in tasks}
        assert living <= cancelled
        self.cancelled |= cancelled

    @precondition(ComingAndGoing.has_governors)
    @rule(number=which, objects=some, now=st.booleans())
    def objects_arrive(self, number: int, objects: list[int], now: bool) -> None:
        governor = self.governor(number)
        coming = governor.fetching()
        chosen = list(dict.fromkeys(coming[i % len(coming)] for i in objects if coming))
        self.report(governor, self.wild.arrived(governor, chosen), now)

    @precondition(ComingAndGoing.has_governors)
    @rule(number=which, index=which, now=st.booleans())
    def a_fetch_fails(self, number: int, index: int, now: bool) -> None:
        governor = self.governor(number)
        coming: list[ObjectId] = governor.fetching()
        if coming:
            self.report(governor, Update(unfetched=[coming[index % len(coming)]]), now)

    @precondition(lambda self: self.wild.outboxes)
    @rule(number=which)
    def a_late_report_arrives(self, number: int) -> None:
        outboxes = list(self.wild.outboxes)
        self.wild.deliver(outboxes[number % len(outboxes)])

    @precondition(lambda self: self.wild.sent)
    @rule(number=st.integers(0, 19))
    def a_report_comes_twice(self, number: int) -> None:
        sent = self.wild.sent
        self.world.turn(GovernorUpdated(*sent[number % len(sent)]))

    @rule()
    def nothing_happens(self) -> None:
        self.world.turn()

    @invariant()
    def holdings_agree(self) -> None:
        if hasattr(self, "wild"):
            self.wild.check_holdings()

    def teardown(self) -> None:
        if not hasattr(self, "wild"):
            return
        # when: nobody misbehaves any more
        self.mood.calm_since = self.world.now + 1
        self.wild.settle()

        # then: all tasks are finished, everybody is answered, everything is vacated
        state = self.world.state
        check(state.graph)
        self.wild.check_holdings()
        unanswered: list[tuple[RequestId, FakeClient]] = [
            (request, client)
            for request, client in self.wild.waiting.items()
            if client in self.world.clients and request not in self.world.answers
        ]
        assert not unanswered
        assert not state.waits
        for governor in state.graph.governors.values():
            assert not governor.active_cpus
            assert not governor.scheduled
            assert not len(governor.queue)

        self.make_it_again()

        # and when: all sessions are closed, then: nothing is left of them anywhere
        self.give_up_all()
        turns = 0
        while self.world.reactor.next_time() <= state.now:  # some of it goes in each turn
            self.world.turn()
            turns += 1
            assert turns < 2_000, "this does not end"
        self.world.turn(after=state.settings.little_wait)
        assert not state.later.waiting
        assert not state.graph.tasks
        assert not state.graph.objects
        assert not state.graph.sessions
        assert not state.to_place
        assert not any(governor.objects for governor in state.graph.governors.values())
        assert not state.touched
        assert not any(fake.held or fake.tasks or fake.kinds for fake in self.world.governors)

    def give_up_all(self) -> None:
        """Nobody wants anything any more."""
        for client in list(self.world.clients):
            client.leave()


TestRandomRuns = pytest.mark.no_cover(RandomRuns.TestCase)
TestRandomRuns.settings = settings(max_examples=examples(60), stateful_step_count=40)
