"""A governor's reactor in a world that is played: executors, fetches, files, and a server.

Everything that the reactor orders is carried out as the real border would, and what it must never
order (a call of an unknown kind, a deleted file, a second start of one run) fails at once. Each
message of the server and to it goes through the wire.
"""

from collections import Counter
from math import inf

from rain.base.caching import TAKEN, Key
from rain.base.exchange import LISTED
from rain.base.executor_protocol import SHARED
from rain.base.ids import KindId, SessionId, TaskId, session_of
from rain.base.kinds import ObjectKind, TaskKind
from rain.base.resources import ONE_CPU, Resources
from rain.base.wire.grace import OWN_GRACE
from rain.base.wire.orders import AskedRuns, CancelledRuns, Orders
from rain.governor.core.cancelling import GRACE
from rain.governor.core.disk import Disk
from rain.governor.core.effects import (
    CallExecutor,
    CopyToDisk,
    DeleteFar,
    DeleteFiles,
    DropCached,
    DropCopy,
    Effect,
    EndStrays,
    FetchObject,
    InterruptExecutor,
    KeepOutputs,
    KillExecutor,
    LeaveMemory,
    LookUp,
    RefuseWait,
    RunBuiltin,
    SendFar,
    SendUpdate,
    StartExecutor,
    StopBuiltin,
    StopFetch,
    TakeBackCalls,
)
from rain.governor.core.events import (
    BuiltinDone,
    CallsTakenBack,
    CallWaits,
    CopyMade,
    Event,
    ExecutorDied,
    ExecutorReady,
    FetchFailed,
    FilesDeleted,
    LookedUp,
    MemorySampled,
    ObjectFetched,
    OrdersReceived,
    OutputsKept,
    SentFar,
    Tick,
)
from rain.governor.core.reactor import Reactor
from rain.governor.core.reactor_settings import DataLimits, Offer, PoolSettings
from rain.governor.core.results import Failed, Made, Outputs, Stored
from rain.governor.core.tiers import Tiers
from rain.rpc.codec import through_the_wire
from tests.governor.played_executor import PlayedExecutor
from tests.governor.played_server import PlayedServer
from tests.governor.words import LISTS, PLAIN, add_task, kind_id, object_id, task_id


class World(PlayedServer):
    """One governor, the time, and everybody around it."""

    def __init__(
        self,
        capacity: Resources = ONE_CPU,
        linger_seconds: float = 5.0,
        checking: bool = True,
        runners: frozenset[str] = frozenset({"py"}),
        one_by_one: frozenset[str] = frozenset(),
        grace: float = GRACE,
        most_blocked: int | None = None,
        tiers: Tiers | None = None,
        disk: Disk | None = None,
    ) -> None:
        super().__init__()
        self.now = 100.0
        self.free = inf  # bytes that the disk has left
        self.memory = inf  # and the machine
        self.reactor = Reactor(
            Offer(capacity),
            PoolSettings(runners, one_by_one, grace=grace, most_blocked=most_blocked),
            DataLimits(linger_seconds, tiers or Tiers(), disk or Disk()),
            now=self.now,
            checking=checking,
        )
        self.events: list[Event] = []
        self.effects: list[Effect] = []  # of the last turn
        self.executors: dict[int, PlayedExecutor] = {}
        self.starts: Counter[TaskId] = Counter()
        self._run_of_call: dict[int, int] = {}  # by the identity of the row
        self.runs: dict[int, RunBuiltin] = {}
        self.stopped_runs: list[int] = []
        self.ended_sessions: list[SessionId] = []
        self.fetches: dict[int, FetchObject] = {}
        self.look_ups: dict[int, LookUp] = {}
        self.keeps: dict[int, KeepOutputs] = {}
        self.files: set[int] = set()
        self.copies: list[int] = []  # from shared memory to the disk, which are being made
        self.complete_copies: set[int] = set()
        self.on_disk: set[int] = set()  # that were made in shared memory
        self.sends: dict[int, SendFar] = {}  # to the far store, which are being made
        self.all_sent: list[int] = []
        self.far: set[int] = set()
        self._file_count = 0

    # Turns.

    def turn(self, *events: Event, dt: float = 0.001) -> list[Effect]:
        """One turn, and the turns that follow from its effects."""
        self.now += dt
        self.events.extend(events)
        done: list[Effect] = []
        while True:
            batch, self.events = self.events, []
            effects = self.reactor.turn(self.now, batch, self.free, self.memory)
            for effect in effects:
                self._perform(effect)
            done.extend(effects)
            if not self.events:
                self.effects = done
                return done

    def tick(self, dt: float = 0.001) -> list[Effect]:
        for number in self.executors:
            self._collect(number)
        return self.turn(Tick(), dt=dt)

    def order(self, orders: Orders) -> list[Effect]:
        self.note(orders)
        return self.turn(OrdersReceived(through_the_wire(orders)))

    # What the server says, in short.

    def assign(
        self,
        kind: TaskKind,
        number: int,
        inputs: tuple[int, ...] = (),
        outputs: tuple[int, ...] = (),
        *,
        run: int = 1,
        priority: int = 0,
        orders: Orders | None = None,
        send: bool = True,
        need: int = 0,
    ) -> Orders:
        session = session_of(kind.id)
        orders = Orders() if orders is None else orders
        self.kinds(orders, kind)
        add_task(
            orders.tasks,
            task_id(number, session),
            kind,
            [object_id(one, session) for one in inputs],
            [object_id(one, session) for one in outputs],
            run,
            priority,
            need,
        )
        if send:
            self.order(orders)
        return orders

    def _object_kind(self, orders: Orders, session: int, content_type: str = "") -> KindId:
        """Told with these orders, if it was not before."""
        kind = kind_id(LISTS if content_type == LISTED else PLAIN, session)
        if kind not in self.told_kinds:
            self.told_kinds.add(kind)
            orders.object_kinds.append(ObjectKind(kind, content_type=content_type))
        return kind

    def place(
        self,
        number: int,
        data: bytes | None = None,
        source: str = "other:1",
        *,
        size: int = 2_000_000,
        session: int = 1,
        orders: Orders | None = None,
        send: bool = True,
        content_type: str = "",
    ) -> Orders:
        orders = Orders() if orders is None else orders
        kind = self._object_kind(orders, session, content_type)
        placed = orders.objects
        placed.ids.append(object_id(number, session))
        placed.kinds.append(kind)
        placed.content_types.append("")
        placed.sizes.append(size if data is None else len(data))
        placed.sources.append(source if data is None else "")
        placed.data.append(data or b"")
        if send:
            self.order(orders)
        return orders

    def lend(
        self,
        number: int,
        data: bytes,
        *,
        session: int = 1,
        orders: Orders,
    ) -> None:
        """Bytes for a task that these orders assign, too."""
        kind = self._object_kind(orders, session)
        lent = orders.lent
        lent.ids.append(object_id(number, session))
        lent.kinds.append(kind)
        lent.content_types.append("")
        lent.data.append(data)

    def stop(self, number: int, run: int = 1, session: int = 1) -> list[Effect]:
        return self.order(Orders(stop_ids=[task_id(number, session)], stop_runs=[run]))

    def cancel(
        self, number: int, run: int = 1, session: int = 1, grace: float = OWN_GRACE
    ) -> list[Effect]:
        cancelled = CancelledRuns([task_id(number, session)], [run], [grace])
        return self.order(Orders(cancelled=cancelled))

    def ask_back(self, number: int, run: int = 1, session: int = 1) -> list[Effect]:
        return self.order(Orders(asked=AskedRuns([task_id(number, session)], [run])))

    def returned(self) -> list[TaskId]:
        """What it has told that it has not begun."""
        return [task for update in self.updates for task in update.returned_ids]

    def ends_told(self) -> list[TaskId]:
        """The cancelled runs of which it was told that they have ended."""
        return [task for update in self.updates for task in update.ended_ids]

    def drop(self, *numbers: int, session: int = 1) -> list[Effect]:
        return self.order(Orders(drops=[object_id(number, session) for number in numbers]))

    def forget(self, session: int = 1) -> list[Effect]:
        return self.order(Orders(forget_sessions=[SessionId(session)]))

    # What executors do.

    def ready(self, *numbers: int) -> None:
        for number in numbers:
            self.executors[number].ready = True
            self.turn(ExecutorReady(number))

    def start_next(self, number: int) -> bool:
        """The executor starts its next call, if there is one."""
        executor = self.executors[number]
        assert not executor.waits or executor.running is not None
        if executor.running is not None or not executor.unstarted or executor.killed:
            return False
        call = executor.start()
        task = call[0]
        self.starts[task] += executor.able
        if executor.able and self._run_of_call[id(call)] == self.assigned.get(task):
            self.begun.add(task)  # else an earlier run was stopped, whose call was on its way
        assert self.starts[task] <= self.orders[task], "a run was started twice"
        self._check_gpus()
        return True

    def answer(
        self,
        number: int,
        result: Outputs | Failed | None = None,
        duration: float = 0.0001,
        peak: int = 0,
        mapped: int = 0,
    ) -> None:
        """What the executor runs ends; the answer lies in its pipe until it is collected."""
        self.executors[number].answer(number, result, duration, peak, mapped)

    def collect(self, number: int) -> list[Effect]:
        self._collect(number)
        return self.turn()

    def _collect(self, number: int) -> None:
        executor = self.executors[number]
        if executor.unread is not None:
            self.events.append(executor.unread)
            executor.unread = None

    def work(self, number: int, duration: float = 0.0001) -> int:
        """The executor does all that it has, and everything is collected; how many calls."""
        count = 0
        while number in self.executors and self.start_next(number):
            self.answer(number, duration=duration)
            count += 1
        if number in self.executors:
            self.collect(number)
        return count

    def die(self, number: int, cause: str = "exit status 3", place: int = 0) -> list[Effect]:
        self._collect(number)
        executor = self.executors.pop(number)
        return self.turn(ExecutorDied(number, cause, executor.unstarted, place))

    def running_on(self, number: int) -> TaskId | None:
        running = self.executors[number].running
        return None if running is None else running[0]

    def block(self, number: int) -> list[Effect]:
        """The running call of the executor begins to wait for other tasks."""
        self._collect(number)  # what it has answered before is read first
        executor = self.executors[number]
        assert executor.running is not None
        assert not executor.waits
        executor.waits = True
        return self.turn(CallWaits(number, waits=True))

    def resume(self, number: int) -> list[Effect]:
        """It goes on."""
        assert self.executors[number].waits
        self.executors[number].waits = False
        return self.turn(CallWaits(number, waits=False))

    # What the governor's own border does.

    def sample(
        self,
        *executors: int,
        runs: tuple[int, ...] = (),
        left: int = -1,
        mapped: tuple[int, ...] = (),
    ) -> list[Effect]:
        """So much memory have the executors, and the runs inside the governor, in their order.

        `mapped` is what the executors have of files.
        """
        in_executors = dict(zip(self.executors, executors, strict=False))
        in_runs = dict(zip(self.runs, runs, strict=False))
        files = dict(zip(self.executors, mapped, strict=False))
        return self.turn(MemorySampled(in_executors, in_runs, left, mapped=files))

    def new_file(self, *, shared: bool = False) -> int:
        self._file_count += 1
        number = self._file_count | SHARED if shared else self._file_count
        self.files.add(number)
        return number

    def copied(self, file: int, reason: str = "") -> list[Effect]:
        """A file was copied to the disk, whether or not anybody still needs it, or could not be."""
        self.copies.remove(file)
        if not reason:
            self.complete_copies.add(file)
        return self.turn(CopyMade(file, reason))

    def _work_far(self, effect: SendFar | DeleteFar) -> None:
        match effect:
            case SendFar(number, file):
                assert file in self.files
                self.sends[number] = effect
                self.all_sent.append(number)
            case DeleteFar(numbers):
                assert set(numbers) <= self.far
                self.far.difference_update(numbers)

    def sent(self, number: int, reason: str = "") -> list[Effect]:
        """A file was copied into the far store, or could not be."""
        effect = self.sends.pop(number)
        if not reason:
            self.far.add(number)
        return self.turn(SentFar(number, effect.file, reason))

    def _work_on_files(
        self, effect: DeleteFiles | CopyToDisk | LeaveMemory | DropCopy | SendFar | DeleteFar
    ) -> None:
        match effect:
            case SendFar() | DeleteFar():
                self._work_far(effect)
            case DeleteFiles(files, tell):
                assert len(set(files)) == len(files)
                assert set(files) <= self.files or not tell
                if tell:
                    self.events.append(FilesDeleted(files))
                self.files.difference_update(files)
                self.on_disk.difference_update(files)
            case CopyToDisk(file):
                assert file & SHARED
                assert file in self.files
                assert file not in {*self.copies, *self.on_disk}
                self.copies.append(file)
            case LeaveMemory(file):
                assert file in self.files
                assert file not in self._told_paths(), "a task is at work on it"
                self.complete_copies.remove(file)
                self.on_disk.add(file)
            case DropCopy(file):
                self.complete_copies.remove(file)

    def _told_paths(self) -> set[object]:
        """The files of all calls and runs that are in hand."""
        calls = [call for one in self.executors.values() for call in one.calls]
        calls += [one.running for one in self.executors.values() if one.running is not None]
        found: set[object] = {row[5] for call in calls for row in call[3] if isinstance(row, tuple)}
        found |= {one.content for run in self.runs.values() for one in run.inputs}
        found |= {one.content for asked in self.look_ups.values() for one in asked.inputs}
        return found | {row.content for kept in self.keeps.values() for row in kept.outputs}

    def fetched(self, fetch: int, content: bytes | Stored) -> list[Effect]:
        self.fetches.pop(fetch, None)
        return self.turn(ObjectFetched(fetch, content))

    def fetch_failed(self, fetch: int, *, here: bool = False) -> list[Effect]:
        self.fetches.pop(fetch, None)
        return self.turn(FetchFailed(fetch, "disk full" if here else "not there", here))

    def end_run(self, run: int, result: Outputs | Failed | None = None) -> list[Effect]:
        effect = self.runs.pop(run)
        made: Outputs | Failed = [b"x" for _ in effect.outputs] if result is None else result
        return self.turn(BuiltinDone(run, 0.001, made))

    def miss(self, asked: int, why: str = "ran: no entry") -> list[Effect]:
        """The cache does not have the outputs of a task."""
        digest = f"{self.look_ups.pop(asked).asked}"
        return self.turn(LookedUp(asked, None, why, Key("f", "", (), digest)))

    def hit(self, asked: int, outputs: Outputs | None = None) -> list[Effect]:
        """The cache has them."""
        effect = self.look_ups.pop(asked)
        made: Outputs = [b"x" for _ in effect.kind.outputs] if outputs is None else outputs
        return self.turn(LookedUp(asked, made, TAKEN))

    def kept(self, number: int) -> list[Effect]:
        """The cache has kept what it was told."""
        for row in self.keeps.pop(number).outputs:
            self._check_content(row.content)
        return self.turn(OutputsKept(number))

    def _perform(self, effect: Effect) -> None:
        match effect:
            case StartExecutor(number, runner):
                assert number not in self.executors
                self.executors[number] = PlayedExecutor(runner)
            case CallExecutor():
                self._call(effect)
            case (
                TakeBackCalls() | InterruptExecutor() | RefuseWait() | KillExecutor() | DropCached()
            ):
                self._tell_executor(effect)
            case EndStrays(sessions):
                self._end_strays(sessions)
            case RunBuiltin():
                self._check_content(*(one.content for one in effect.inputs))
                self.runs[effect.run] = effect
                self._check_gpus()
            case StopBuiltin(run):
                assert run in self.runs
                self.stopped_runs.append(run)
            case FetchObject():
                self.fetches[effect.fetch] = effect
            case StopFetch(fetch):
                self.fetches.pop(fetch, None)
            case (
                DeleteFiles() | CopyToDisk() | LeaveMemory() | DropCopy() | SendFar() | DeleteFar()
            ):
                self._work_on_files(effect)
            case LookUp() | KeepOutputs():
                self._tell_cache(effect)
            case SendUpdate(update):
                self.hear(through_the_wire(update))

    def _tell_cache(self, effect: LookUp | KeepOutputs) -> None:
        match effect:
            case LookUp(asked):
                self._check_content(*(one.content for one in effect.inputs))
                self.look_ups[asked] = effect
            case KeepOutputs(number):
                self._check_content(*(row.content for row in effect.outputs))
                self.keeps[number] = effect

    def _tell_executor(
        self, effect: TakeBackCalls | InterruptExecutor | RefuseWait | KillExecutor | DropCached
    ) -> None:
        match effect:
            case TakeBackCalls(number):
                self._take_back(number)
            case InterruptExecutor(number, call):
                self.executors[number].interrupt(call)
            case RefuseWait(number, call):
                assert call == self.executors[number].started
                self.executors[number].refused += 1
            case KillExecutor(number):
                self.executors[number].killed = True
            case DropCached(number, objects, sessions):
                self.executors[number].drop(objects, sessions)

    def _end_strays(self, sessions: list[SessionId]) -> None:
        """Nothing of these sessions may run any more, or it would be killed without its grace."""
        running = [one.running[0] for one in self.executors.values() if one.running is not None]
        running += [run.task for run in self.runs.values()]
        assert not {session_of(task) for task in running} & set(sessions)
        self.ended_sessions += sessions

    def _call(self, effect: CallExecutor) -> None:
        self.executors[effect.executor].get(effect)
        for call in effect.calls:
            self._run_of_call[id(call)] = self.assigned.get(call[0], 0)
            self._check_content(*(row[5] for row in call[3] if isinstance(row, tuple)))

    def lent_gpus(self) -> list[str]:
        """The gpus of everything that runs."""
        running = [one.gpus for one in self.executors.values() if one.running is not None]
        running += [run.gpus or () for run in self.runs.values()]
        return [gpu for gpus in running for gpu in gpus]

    def _check_gpus(self) -> None:
        lent = self.lent_gpus()
        assert len(set(lent)) == len(lent), "two tasks use one gpu"

    def _check_content(self, *contents: bytes | int | None) -> None:
        for content in contents:
            assert content is None or isinstance(content, bytes) or content in self.files

    def _take_back(self, number: int) -> None:
        unstarted = self.executors[number].take_back()
        self._collect(number)
        self.events.append(CallsTakenBack(number, unstarted))


def stored(world: World, size: int = 300_000, *, shared: bool = False) -> Made:
    """An output that an executor has left in a file."""
    return Made(Stored(world.new_file(shared=shared), size))
