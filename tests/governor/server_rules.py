"""What servers order in random lives of a governor."""

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from rain.base.ids import ObjectId, SessionId, TaskId, session_of, unpack
from rain.base.kinds import TaskKind
from rain.base.resources import Resources
from rain.base.wire.grace import OWN_GRACE
from rain.base.wire.orders import AskedRuns, CancelledRuns, Orders
from rain.governor.core.disk import Disk
from tests.governor.words import add_task, builtin_kind, object_id, python_kind, task_id
from tests.governor.world import World

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


class ServerRules(RuleBasedStateMachine):
    """What a server may order, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World(CAPACITY, linger_seconds=0.05, most_blocked=2, disk=Disk(DISK))
        self.count = 100
        self.session_numbers = {1: 1, 2: 2}  # how the sessions of the rules are called now
        self.kinds = {number: kinds_of(number) for number in SESSIONS}
        self.waited: dict[TaskId, list[ObjectId]] = {}

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
