"""Random lives of a governor, with the checker on after every turn."""

import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from rain.base.ids import ObjectId, SessionId, TaskId, session_of, unpack
from rain.base.kinds import TaskKind
from rain.base.resources import Resources
from rain.base.wire.grace import OWN_GRACE
from rain.base.wire.orders import AskedRuns, CancelledRuns, Orders
from rain.governor.disk import Disk
from rain.governor.events import ProcessesLeft
from rain.governor.results import Failed, Made, Outputs, PassedOn
from tests.governor.played_executor import PlayedExecutor
from tests.governor.words import add_task, builtin_kind, object_id, python_kind, task_id
from tests.governor.world import World, stored
from tests.support.effort import examples

MIB = 1024**2
MEMORY = 3000 * MIB
DISK = 1_500_000  # five of the files that tasks make here
CAPACITY = Resources(3, (("gpus", 2), ("memory", MEMORY)))
NEEDS = (
    Resources(1),
    Resources(0),
    Resources(2),
    Resources(3),
    Resources(1, (("gpus", 1),)),
    Resources(0, (("gpus", 2),)),
    Resources(4),  # more than there is
    Resources(1, (("memory", 2000 * MIB),)),
    Resources(1, (("memory", 900 * MIB),)),
)
SESSIONS = (1, 2)


def kinds_of(session: int) -> list[TaskKind]:
    kinds: list[TaskKind] = []
    for position, needs in enumerate(NEEDS):
        kinds.append(python_kind(2 + position, session=session, resources=needs))
        kinds.append(builtin_kind(20 + position, session=session, resources=needs))
    kinds.append(python_kind(40, session=session, outputs=2))
    kinds.append(python_kind(42, session=session, depth=1))
    kinds.append(python_kind(44, session=session, priority=5))
    kinds.append(python_kind(45, session=session, priority=-5, resources=Resources(2)))
    kinds.append(python_kind(43, session=session, depth=2, resources=Resources(2)))
    kinds.append(python_kind(46, session=session, outputs=2, cache="own"))
    kinds.append(builtin_kind(47, session=session, cache="own"))
    kinds.append(python_kind(41, session=session, task_type="unknown/method"))
    return kinds


class GovernorMachine(RuleBasedStateMachine):
    """What a server may order and what may happen around a governor, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World(CAPACITY, linger_seconds=0.05, most_blocked=2, disk=Disk(DISK))
        self.count = 100
        self.session_numbers = {1: 1, 2: 2}  # how the sessions of the rules are called now
        self.kinds = {number: kinds_of(number) for number in SESSIONS}
        self.waited: dict[TaskId, list[ObjectId]] = {}

    # The server.

    def objects(self, session: int) -> list[ObjectId]:
        """All that a task of the session may name as an input."""
        known = self.world.reactor.state.sessions.get(SessionId(session))
        return [] if known is None else list(known.objects)

    def live_tasks(self) -> list[TaskId]:
        return list(self.world.assigned)

    @rule(which=st.sampled_from(SESSIONS), data=st.binary(max_size=20))
    def give_an_object(self, which: int, data: bytes) -> None:
        self.count += 1
        self.world.place(self.count, data, session=self.session_numbers[which])

    @rule(which=st.sampled_from(SESSIONS), source=st.sampled_from(("a:1", "server")))
    def order_a_copy(self, which: int, source: str) -> None:
        self.count += 1
        self.world.place(self.count, None, source, session=self.session_numbers[which])

    @rule(
        which=st.sampled_from(SESSIONS),
        pick=st.integers(0, 1000),
        source=st.sampled_from(("a:1", "b:1")),
        given=st.booleans(),
    )
    def name_a_copy_again(self, which: int, pick: int, source: str, given: bool) -> None:
        session = self.session_numbers[which]
        known = self.objects(session)
        if known:
            number = unpack(known[pick % len(known)]).id
            self.world.place(number, b"again" if given else None, source, session=session)

    @rule(which=st.sampled_from(SESSIONS), picks=st.lists(st.integers(0, 1000), max_size=3))
    def drop_copies(self, which: int, picks: list[int]) -> None:
        known = self.objects(self.session_numbers[which])
        if known:
            self.world.order(Orders(drops=[known[pick % len(known)] for pick in picks]))

    @rule(
        which=st.sampled_from(SESSIONS),
        kind=st.one_of(st.just(0), st.integers(0, 100)),
        count=st.integers(1, 12),
        picks=st.lists(st.integers(0, 1000), max_size=3),
        lent=st.lists(st.binary(max_size=20), max_size=2),
        priority=st.integers(-1, 1),
        need=st.just(0) | st.integers(0, 2 * MEMORY),
    )
    def assign_tasks(
        self,
        which: int,
        kind: int,
        count: int,
        picks: list[int],
        lent: list[bytes],
        priority: int,
        need: int,
    ) -> None:
        session = self.session_numbers[which]
        kinds = self.kinds[session]
        chosen = kinds[kind % len(kinds)]
        known = self.objects(session)
        inputs = [known[pick % len(known)] for pick in picks] if known else []
        orders = Orders()
        self.world.kinds(orders, chosen)
        for data in lent:
            self.count += 1
            self.world.lend(self.count, data, session=session, orders=orders)
            inputs.append(object_id(self.count, session))
        for _ in range(count):
            self.count += 1 + len(chosen.outputs)
            outputs = [
                object_id(self.count - position, session)
                for position in range(len(chosen.outputs), 0, -1)
            ]
            task = task_id(self.count, session)
            add_task(orders.tasks, task, chosen, inputs, outputs, priority=priority, need=need)
        self.world.order(orders)

    @rule(
        which=st.sampled_from(SESSIONS),
        kind=st.one_of(st.just(0), st.integers(0, 100)),
        length=st.integers(2, 12),
        pick=st.integers(0, 1000),
    )
    def assign_a_chain(self, which: int, kind: int, length: int, pick: int) -> None:
        """Each task reads what the one before it makes, and all of them the same other object."""
        session = self.session_numbers[which]
        kinds = self.kinds[session]
        chosen = kinds[kind % len(kinds)]
        known = self.objects(session)
        shared = [known[pick % len(known)]] if known else []
        orders = Orders()
        self.world.kinds(orders, chosen)
        made: list[ObjectId] = []
        for _ in range(length):
            self.count += 1 + len(chosen.outputs)
            outputs = [
                object_id(self.count - position, session)
                for position in range(len(chosen.outputs), 0, -1)
            ]
            task = task_id(self.count, session)
            add_task(orders.tasks, task, chosen, [*shared, *made[:1]], outputs)
            made = outputs
        self.world.order(orders)

    @rule(pick=st.integers(0, 100))
    def an_executor_forgets_what_it_has_made(self, pick: int) -> None:
        number = self.pick_executor(pick, lambda executor: executor.made)
        if number is not None and self.world.executors[number].running is None:
            self.world.executors[number].made.clear()

    def with_followers(self, task: TaskId) -> list[TaskId]:
        """The task and all that read, directly or not, what it would have made here."""
        tasks = self.world.reactor.state.sessions[session_of(task)].tasks
        found = [task]
        for one in found:  # grows while it is walked
            for target in tasks[one].outputs:
                if target.row.name != "HELD":
                    found += [w.id for w in target.waiting or () if w.id not in found]
        return found

    @precondition(lambda self: self.world.assigned)
    @rule(pick=st.integers(0, 1000), again=st.booleans(), late=st.booleans())
    def stop_a_task(self, pick: int, again: bool, late: bool) -> None:
        tasks = self.live_tasks()
        stopped = tasks[pick % len(tasks)]
        run = self.world.assigned[stopped]
        node = self.world.reactor.state.sessions[session_of(stopped)].tasks[stopped]
        kind, inputs = node.kind.kind, [target.id for target in node.inputs]
        outputs = [target.id for target in node.outputs]
        orders = Orders(stop_ids=[stopped], stop_runs=[run + late])
        if not late:
            for follower in self.with_followers(stopped)[1:]:
                orders.stop_ids.append(follower)
                orders.stop_runs.append(self.world.assigned[follower])
        if again and not late:
            known = self.world.reactor.state.sessions[session_of(stopped)].objects
            if all(known[one].row.name == "HELD" and known[one].wanted for one in inputs):
                add_task(orders.tasks, stopped, kind, inputs, outputs, run + 1)
        self.world.order(orders)

    @precondition(lambda self: self.world.assigned)
    @rule(
        pick=st.integers(0, 1000),
        late=st.booleans(),
        grace=st.sampled_from((OWN_GRACE, 0.0, 0.1)),
    )
    def cancel_a_task(self, pick: int, late: bool, grace: float) -> None:
        """It goes with all that reads what it would have made."""
        tasks = self.live_tasks()
        chosen = tasks[pick % len(tasks)]
        cancelled = CancelledRuns()
        for task in [chosen] if late else self.with_followers(chosen):
            cancelled.ids.append(task)
            cancelled.runs.append(self.world.assigned[task] + late)
            cancelled.graces.append(grace)
        self.world.order(Orders(cancelled=cancelled))

    @precondition(lambda self: self.world.assigned)
    @rule(pick=st.integers(0, 1000), count=st.integers(1, 4), late=st.booleans())
    def ask_tasks_back(self, pick: int, count: int, late: bool) -> None:
        """Those that read what they would have made wait until the server stops them."""
        tasks = self.live_tasks()
        asked = AskedRuns()
        for task in dict.fromkeys(tasks[(pick + i) % len(tasks)] for i in range(count)):
            asked.ids.append(task)
            asked.runs.append(self.world.assigned[task] + late)
        self.world.order(Orders(asked=asked))

    @rule(which=st.sampled_from(SESSIONS), luck=st.integers(0, 3))
    def forget_a_session(self, which: int, luck: int) -> None:
        if luck:
            return  # else nothing grows old
        old = self.session_numbers[which]
        self.world.forget(old)
        new = old + len(SESSIONS)
        self.session_numbers[which] = new
        self.kinds[new] = kinds_of(new)

    # Executors.

    def executors(self) -> list[int]:
        return list(self.world.executors)

    def pick_executor(
        self, pick: int, fits: Callable[[PlayedExecutor], object] = bool
    ) -> int | None:
        known = [n for n, executor in self.world.executors.items() if fits(executor)]
        return known[pick % len(known)] if known else None

    @rule(pick=st.integers(0, 100))
    def an_executor_gets_ready(self, pick: int) -> None:
        number = self.pick_executor(pick, lambda executor: not executor.ready)
        if number is not None:
            self.world.ready(number)

    @rule(pick=st.integers(0, 100))
    def an_executor_starts_a_call(self, pick: int) -> None:
        number = self.pick_executor(pick, lambda executor: executor.unstarted)
        if number is not None:
            self.world.start_next(number)

    @rule(
        pick=st.integers(0, 100),
        data=st.data(),
        duration=st.sampled_from((1e-5, 1e-3, 1.0)),
        peak=st.sampled_from((0, 100 * MIB, 1200 * MIB)),
    )
    def an_executor_answers(
        self, pick: int, data: st.DataObject, duration: float, peak: int
    ) -> None:
        number = self.pick_executor(pick, lambda one: one.running and not one.waits)
        if number is None:
            return
        call = self.world.executors[number].running
        assert call is not None
        inputs = [row if isinstance(row, int) else row[0] for row in call[3]]
        executor = self.world.executors[number]
        cleaned = executor.interrupted != call[0] or data.draw(st.booleans())
        self.world.answer(number, data.draw(self.result(len(call[4]), inputs)), duration, peak)
        if not cleaned and executor.unread is not None and len(executor.unread.tasks) == 1:
            self.world.turn(ProcessesLeft(number))

    @rule(pick=st.integers(0, 100))
    def a_call_waits_for_other_tasks(self, pick: int) -> None:
        number = self.pick_executor(
            pick, lambda one: one.running and one.able and not (one.waits or one.killed)
        )
        if number is not None:
            self.world.block(number)

    @rule(pick=st.integers(0, 100))
    def a_call_has_what_it_waited_for(self, pick: int) -> None:
        number = self.pick_executor(pick, lambda executor: executor.waits)
        if number is not None:
            self.world.resume(number)

    @rule(pick=st.integers(0, 100))
    def answers_are_collected(self, pick: int) -> None:
        number = self.pick_executor(pick, lambda executor: executor.unread)
        if number is not None:
            self.world.collect(number)

    @rule(pick=st.integers(0, 100), share=st.integers(1, 30))
    def an_executor_works(self, pick: int, share: int) -> None:
        number = self.pick_executor(pick, lambda executor: executor.unstarted)
        if number is None:
            return
        for _ in range(share):
            if not self.world.start_next(number):
                break
            self.world.answer(number, duration=2e-5)
        self.world.collect(number)

    @rule(
        executors=st.lists(st.sampled_from((20 * MIB, 200 * MIB, 1500 * MIB)), max_size=5),
        runs=st.lists(st.sampled_from((20 * MIB, 1500 * MIB)), max_size=3),
        left=st.sampled_from((-1, 0, MEMORY)),
    )
    def memory_is_looked_at(self, executors: list[int], runs: list[int], left: int) -> None:
        self.world.sample(*executors, runs=tuple(runs), left=left)

    @rule(pick=st.integers(0, 100), idle=st.booleans())
    def an_executor_dies(self, pick: int, idle: bool) -> None:
        number = self.pick_executor(pick, lambda executor: idle or executor.running)
        if number is not None:
            self.world.die(number)

    @rule(pick=st.integers(0, 100))
    def a_killed_executor_is_gone(self, pick: int) -> None:
        number = self.pick_executor(pick, lambda executor: executor.killed)
        if number is not None:
            self.world.die(number, "killed")

    def result(self, outputs: int, inputs: list[ObjectId]) -> st.SearchStrategy[Any]:
        world = self.world
        data = st.binary(max_size=5)
        made: list[st.SearchStrategy[bytes | Made]] = [data]
        made.append(st.builds(Made, data, st.just("text"), st.just("{}")))
        made.append(st.builds(stored, st.just(world)))
        if inputs:
            made.append(st.sampled_from(inputs).map(lambda one: Made(PassedOn(one))))
        right: st.SearchStrategy[Outputs] = st.lists(
            st.one_of(made), min_size=outputs, max_size=outputs
        )
        return st.one_of(right, right, st.just(Failed("wrong")), st.just([b""] * (outputs + 1)))

    # The cache.

    @precondition(lambda self: self.world.look_ups)
    @rule(pick=st.integers(0, 100), has=st.booleans(), data=st.data())
    def the_cache_answers(self, pick: int, has: bool, data: st.DataObject) -> None:
        look_ups = list(self.world.look_ups)
        asked = look_ups[pick % len(look_ups)]
        if not has:
            self.world.miss(asked)
            return
        one = st.one_of(st.binary(max_size=5), st.builds(stored, st.just(self.world)))
        count = len(self.world.look_ups[asked].kind.outputs)
        self.world.hit(asked, data.draw(st.lists(one, min_size=count, max_size=count)))

    @precondition(lambda self: self.world.keeps)
    @rule(pick=st.integers(0, 100))
    def the_cache_has_kept_something(self, pick: int) -> None:
        keeps = list(self.world.keeps)
        self.world.kept(keeps[pick % len(keeps)])

    # The rest of the border.

    @precondition(lambda self: self.world.runs)
    @rule(pick=st.integers(0, 100), data=st.data())
    def a_run_ends(self, pick: int, data: st.DataObject) -> None:
        runs = list(self.world.runs)
        run = runs[pick % len(runs)]
        effect = self.world.runs[run]
        inputs = [one.id for one in effect.inputs]
        self.world.end_run(run, data.draw(self.result(len(effect.outputs), inputs)))

    @precondition(lambda self: self.world.fetches)
    @rule(pick=st.integers(0, 100), how=st.sampled_from(("bytes", "file", "not at all", "no room")))
    def a_fetch_ends(self, pick: int, how: str) -> None:
        fetches = list(self.world.fetches)
        fetch = fetches[pick % len(fetches)]
        if how in ("not at all", "no room"):
            self.world.fetch_failed(fetch, here=how == "no room")
        else:
            content = stored(self.world).content if how == "file" else b"data"
            assert not isinstance(content, PassedOn)
            self.world.fetched(fetch, content)

    @rule(dt=st.sampled_from((0.001, 0.03, 0.2, 3.0)))
    def time_passes(self, dt: float) -> None:
        self.world.tick(dt)

    @invariant()
    def the_server_and_the_governor_agree(self) -> None:
        live = {
            task for session in self.world.reactor.state.sessions.values() for task in session.tasks
        }
        assert live == set(self.world.assigned)

    @invariant()
    def every_file_belongs_to_an_object_or_lies_in_a_pipe(self) -> None:
        contents = {
            target.content
            for session in self.world.reactor.state.sessions.values()
            for target in session.objects.values()
            if isinstance(target.content, int)
        }
        unread = {
            output.content.file
            for executor in self.world.executors.values()
            if executor.unread is not None
            for result in executor.unread.results
            if isinstance(result, list)
            for output in result
            if isinstance(output, Made) and not isinstance(output.content, bytes | PassedOn)
        }
        assert contents <= self.world.files
        # Hypothesis may draw a result with a file and then use another one.
        assert not unread - self.world.files

    def teardown(self) -> None:
        """Whatever has happened: when all do their part, all tasks end and nothing is left."""
        if sys.exc_info()[0] is not None:
            return
        for _ in range(500):
            self._everybody_works()
            if not any(self._could_end(task) for task in self.world.assigned):
                break
        stranded = [task for task in self.world.assigned if self._could_end(task)]
        assert not stranded
        for session in list(self.world.reactor.state.sessions):
            self.world.forget(session)
        for number in self.executors():
            if self.world.executors[number].killed:
                self.world.die(number, "killed")
            else:
                if self.world.executors[number].running is not None:
                    self._answer(number)
                self.world.work(number)
        for run in list(self.world.runs):
            self.world.end_run(run)
        self._the_cache_works()
        state = self.world.reactor.state
        free = state.pool.free
        assert (free.cpus, free.slots, free.others) == (
            3,
            12,
            {"gpus": 2, "memory": MEMORY - free.withheld},
        )
        assert state.pool.gpus.free == ["0", "1"]
        objects, dispatch = state.objects, state.dispatch
        ended = self.world.ended_sessions
        assert len(set(ended)) == len(ended)
        left = [
            state.stopping.leaving,
            dispatch.groups,
            dispatch.runs,
            objects.fetches.going,
            objects.lingering.times,
            objects.files.counts,
            objects.caching.asked,
            objects.caching.keeping,
        ]
        assert left == [{}] * len(left)

    def _answer(self, number: int) -> None:
        """The running call ends, and waits for nothing any more."""
        if self.world.executors[number].waits:
            self.world.resume(number)
        self.world.answer(number)

    def _everybody_works(self) -> None:
        world = self.world
        for number in self.executors():
            executor = world.executors.get(number)
            if executor is None:
                continue
            if executor.killed:
                world.die(number, "killed")
            elif not executor.ready:
                world.ready(number)
            elif executor.running is not None:
                self._answer(number)
                world.work(number)
            else:
                world.work(number)
        for run in list(world.runs):
            world.end_run(run)
        for fetch in list(world.fetches):
            world.fetched(fetch, b"data")
        self._the_cache_works()
        world.tick(0.03)

    def _the_cache_works(self) -> None:
        for asked in list(self.world.look_ups):
            self.world.miss(asked)
        for number in list(self.world.keeps):
            self.world.kept(number)

    def _could_end(self, task: TaskId) -> bool:
        """Whether no input of it, or of those that make its inputs, is absent."""
        known = self.world.reactor.state.sessions[session_of(task)]
        node = known.tasks[task]
        for target in node.inputs:
            if target.row.name == "ABSENT":
                return False
            if target.producer is not None and not self._could_end(target.producer.id):
                return False
        return True


TestGovernorMachine = pytest.mark.no_cover(GovernorMachine.TestCase)
TestGovernorMachine.settings = settings(max_examples=examples(100), stateful_step_count=50)
