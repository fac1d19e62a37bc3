"""Virtual time: the server, its governors and the network between them, event after event.

Everything that happens at one instant is gathered and then applied in a fixed order: what has
arrived, the governors' turns, the server's turn, the network. Events of one instant keep the order
in which they were made. So a run depends on nothing but what it was given.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

from attrs import evolve, frozen

from rain.base.address import Source
from rain.base.errors import InvariantError
from rain.base.ids import ClientId, GovernorId, RequestId, SessionId, TaskId
from rain.base.wire import SERVER, Orders, Update
from rain.governor.messages import (
    BuiltinDone,
    DeleteFiles,
    Failed,
    Fetch,
    FetchFailed,
    ObjectFetched,
    OrdersReceived,
    RunBuiltin,
    SendUpdate,
    StopBuiltin,
    StopFetch,
    Tick,
)
from rain.lab import ledger as kinds
from rain.lab.estimates import Expected
from rain.lab.ledger import Ledger
from rain.lab.machine import Governor, Run
from rain.lab.network import Network, Transfer
from rain.lab.outcome import Outcome
from rain.lab.submitting import Submitting
from rain.lab.watched import WatchedScheduler
from rain.lab.workload import NO_OVERHEADS, Cluster, LabError, Overheads, Workload
from rain.server.messages import (
    AnswerWait,
    ClientJoined,
    DismissGovernor,
    Effect,
    GovernorJoined,
    GovernorUpdated,
    Notice,
    OrderGovernor,
    Refuse,
    SchedulerFailed,
    SessionOpened,
    Submitted,
    TurnInput,
    WaitAsked,
)
from rain.server.reactor import Reactor
from rain.server.state import ReactorSettings, State

FOREVER = float("inf")
BEGIN = 1.0  # the first submit: everybody has joined long before
CLIENT = ClientId(1)
SESSION = SessionId(1)
PATIENCE = 50
"""So many turns of the server in a row may pass for nothing when only it could go on."""

PATIENT = ReactorSettings(governor_silence=FOREVER)
"""Governors of the lab send no heartbeats."""

_SILENCE = Update()


@frozen
class Setup:
    """All that a run depends on, but the scheduler."""

    workload: Workload
    cluster: Cluster
    expected: Expected
    overheads: Overheads = NO_OVERHEADS
    checking: bool = False  # run both consistency checkers after every turn
    settings: ReactorSettings = PATIENT


class Simulation:
    """One run."""

    def __init__(
        self,
        setup: Setup,
        scheduler: WatchedScheduler,
        record: Callable[[TurnInput], None] | None = None,
    ) -> None:
        """`record` is given the input of every turn of the server, as that one would write it."""
        self.now = 0.0
        self.ledger = Ledger(BEGIN)
        self._setup = setup
        self._latency = setup.cluster.latency
        self._scheduler = scheduler
        self._record = record
        self._heap: list[tuple[float, int, Callable[[Any], None], Any]] = []
        self._count = 0
        self._over = False
        # The server.
        settings = evolve(setup.settings, debug=setup.checking)
        self._reactor = Reactor(scheduler, State(settings))
        self._inbox = TurnInput(0.0)
        self._free_at = 0.0  # until then it is busy with its last turn
        self._due = FOREVER
        self._turns = self._vain = 0
        # The client.
        self._submitting = Submitting(setup.workload, setup.expected, SESSION)
        self._batch = 0
        # The governors, and the network with the server as its last member.
        self._governors = [
            Governor(
                number,
                GovernorId(number + 1),
                f"governor-{number}:1",
                resources,
                checking=setup.checking,
            )
            for number, resources in enumerate(setup.cluster.governors)
        ]
        self._by_source = {
            Source(governor.address, governor.id).spell(): governor for governor in self._governors
        }
        self._stirred: dict[Governor, None] = {}  # those that have something to do now
        links = [setup.cluster.bandwidth] * (len(self._governors) + 1)
        self._network = Network(links, links)
        self._pulls: dict[Transfer, tuple[Governor, int]] = {}
        self._transfers: dict[tuple[Governor, int], Transfer] = {}

    def run(self) -> Outcome:
        """From the first submit to the last task."""
        self._inbox.from_governors += [
            GovernorJoined(governor.id, governor.address, governor.resources)
            for governor in self._governors
        ]
        self._inbox.from_clients.append(ClientJoined(CLIENT))
        self._at(BEGIN, self._begin, None)
        while not self._over:
            self.now = self._next_time()
            self._instant()
        outcome = self.ledger.outcome(self.now)
        outcome.turns = self._turns
        outcome.scheduler_runs = self._scheduler.runs
        outcome.scheduler_seconds = self._scheduler.seconds
        return outcome

    # Time.

    def _at(self, time: float, action: Callable[[Any], None], subject: object) -> None:
        self._count += 1
        heappush(self._heap, (time, self._count, action, subject))

    def _next_time(self) -> float:
        if self._stirred:
            return self.now
        time = self._network.next_end()
        if self._heap and self._heap[0][0] < time:
            time = self._heap[0][0]
        server = self._free_at
        if not (self._inbox.from_governors or self._inbox.from_clients):
            server = max(server, self._due)
            if time == server == FOREVER:
                raise self._stuck()
        return max(min(time, server), self.now)

    def _instant(self) -> None:
        now, heap = self.now, self._heap
        while heap and heap[0][0] <= now:
            _, _, action, subject = heappop(heap)
            action(subject)
        for transfer in self._network.take_ended(now):
            self._pulled(transfer)
        if self._stirred:
            stirred, self._stirred = self._stirred, {}
            for governor in stirred:
                self._governor_turn(governor)
        if now >= self._free_at:
            inbox = self._inbox
            if now >= self._due or inbox.from_governors or inbox.from_clients:
                self._server_turn()
        self._network.settle(now)

    # The client.

    def _begin(self, _: None) -> None:
        self._inbox.from_clients.append(SessionOpened(CLIENT, RequestId(0), "lab", ""))
        self._submit(0)

    def _submit(self, number: int) -> None:
        """Submits a batch, and waits for what the next one needs, or for the end."""
        self._batch = number
        inbox, batches = self._inbox.from_clients, self._setup.workload.batches
        submission = self._submitting.batch(number)
        inbox.append(Submitted(CLIENT, RequestId(2 * number + 1), submission))
        request = RequestId(2 * number + 2)
        if number + 1 == len(batches):
            inbox.append(WaitAsked(CLIENT, request, SESSION, (), (), "session"))
            return
        following = batches[number + 1]
        if following.after:
            tasks = tuple(self._submitting.task_id(task) for task in following.after)
            inbox.append(WaitAsked(CLIENT, request, SESSION, tasks, (), "all"))
        else:
            self._at(self.now + following.delay, self._submit, number + 1)

    def _answered(self) -> None:
        """What the client has waited for is finished."""
        number = self._batch + 1
        batches = self._setup.workload.batches
        if number == len(batches):
            self._over = True
        else:
            delay = batches[number].delay + 2 * self._latency
            self._at(self.now + delay, self._submit, number)

    # The server.

    def _server_turn(self) -> None:
        given, self._inbox = self._inbox, TurnInput(0.0)
        given.now = self.now
        if self._record is not None:
            self._record(given)
        output = self._reactor.turn(given)
        self._turns += 1
        self._due = output.next_due
        took = 0.0
        if output.scheduled:
            took = self._scheduler.heard * self._setup.overheads.news
            self._inbox.scheduling_took = took
        self._free_at = self.now + self._setup.overheads.turn + took
        told: list[tuple[Governor, Orders]] = []
        for effect in output.effects:
            if isinstance(effect, OrderGovernor):
                told.append((self._governors[effect.governor - 1], effect.orders))
            else:
                self._carry(effect)
        if told:
            self._at(self._free_at + self._latency, self._ordered, told)
        self._notice_standstill(bool(told))

    def _carry(self, effect: Effect) -> None:
        match effect:
            case AnswerWait():
                self._answered()
            case Refuse(_, reason):
                why = reason if isinstance(reason, str) else reason.message
                raise LabError(f"the server refused the graph {self._setup.workload.name!r}: {why}")
            case DismissGovernor(_, reason):
                raise InvariantError(f"a governor of the lab was dismissed: {reason}")
            case SchedulerFailed(_, cause):
                raise LabError(f"a scheduler failed on {self._setup.workload.name!r}: {cause}")
            case Notice(_, text):
                raise LabError(f"the graph {self._setup.workload.name!r} cannot run: {text}")
            case _:
                pass  # answers that the client only takes note of

    def _notice_standstill(self, told: bool) -> None:
        """A scheduler that leaves tasks without a plan would let the server turn for ever."""
        if told or self._heap or self._network.active or self._over:
            self._vain = 0
            return
        self._vain += 1
        if self._vain > PATIENCE:
            raise self._stuck()

    def _stuck(self) -> LabError:
        session = self._reactor.state.graph.sessions.get(SESSION)
        left = session.unfinished if session is not None else 0
        return LabError(
            f"the scheduler leaves {left} tasks of {self._setup.workload.name!r} undone: nothing"
            f" runs, nothing moves, and in {PATIENCE} runs it has planned nothing"
        )

    # The governors.

    def _ordered(self, told: list[tuple[Governor, Orders]]) -> None:
        for governor, orders in told:
            self.ledger.note(self.now, kinds.ORDERED, governor.number, len(orders.tasks.ids))
            governor.events.append(OrdersReceived(orders))
            self._stirred[governor] = None

    def _governor_turn(self, governor: Governor) -> None:
        events, governor.events = governor.events, []
        for effect in governor.reactor.turn(self.now, events):
            match effect:
                case RunBuiltin(run, task_id):
                    self._start(governor, run, task_id)
                case SendUpdate(update):
                    if update != _SILENCE:
                        event = GovernorUpdated(governor.id, update)
                        self._at(self.now + self._latency, self._inbox_take, event)
                case Fetch():
                    self._fetch(governor, effect)
                case StopFetch(fetch):
                    self._stop_fetch(governor, fetch)
                case DeleteFiles(files):
                    governor.delete(files)
                    self.ledger.count_stored(governor)
                case StopBuiltin(run):
                    self._stop_run(governor, run)
                case _:
                    raise InvariantError(f"the lab has no executors: {effect}")
        self._wake_later(governor)

    def _start(self, governor: Governor, run: int, task_id: TaskId) -> None:
        overheads = self._setup.overheads
        if governor.ready_at < 0:
            governor.ready_at = self.now + overheads.start
        start = max(self.now, governor.ready_at)
        number = self._submitting.task_number(task_id)
        governor.runs[run] = Run(task_id, start)
        self.ledger.note(start, kinds.STARTED, governor.number, number)
        end = start + self._setup.workload.tasks[number].duration + overheads.task
        self._at(end, self._ran, (governor, run))

    def _inbox_take(self, event: GovernorUpdated) -> None:
        self._inbox.from_governors.append(event)

    def _wake_later(self, governor: Governor) -> None:
        """What lingers in a store goes by itself after a while."""
        lingering = governor.reactor.state.objects.lingering
        if lingering:
            time = next(iter(lingering.values()))
            if governor.wakes_at > time or governor.wakes_at <= self.now:
                governor.wakes_at = time
                self._at(time, self._wake, governor)

    def _wake(self, governor: Governor) -> None:
        if governor.wakes_at == self.now:
            governor.events.append(Tick())
            self._stirred[governor] = None

    def _ran(self, subject: tuple[Governor, int]) -> None:
        governor, number = subject
        run = governor.runs.pop(number, None)
        if run is None:
            return  # it was stopped before
        position = self._submitting.task_number(run.task)
        workload = self._setup.workload
        task = workload.tasks[position]
        self.ledger.note(self.now, kinds.ENDED, governor.number, position)
        self.ledger.ran(position, governor.number, run.started, self.now)
        sizes = [workload.objects[made].size for made in task.outputs]
        governor.events.append(BuiltinDone(number, task.duration, governor.make(sizes)))
        self.ledger.count_stored(governor)
        self._stirred[governor] = None

    def _stop_run(self, governor: Governor, run: int) -> None:
        if governor.runs.pop(run, None) is not None:
            governor.events.append(BuiltinDone(run, 0.0, Failed("it was stopped")))
            self._stirred[governor] = None

    # Transfers.

    def _fetch(self, governor: Governor, effect: Fetch) -> None:
        governor.fetches[effect.fetch] = effect
        governor.queue.append(effect.fetch)
        self._pull_next(governor)

    def _pull_next(self, governor: Governor) -> None:
        """Asks for what may come now; the answer begins after a round trip."""
        while governor.queue and governor.pulling < self._setup.cluster.downloads:
            fetch = governor.queue.pop(0)
            if fetch in governor.fetches:
                governor.pulling += 1
                self._at(self.now + 2 * self._latency, self._pull, (governor, fetch))

    def _pull(self, subject: tuple[Governor, int]) -> None:
        governor, number = subject
        fetch = governor.fetches.get(number)
        if fetch is None:
            governor.pulling -= 1  # it was stopped on the way
            self._pull_next(governor)
            return
        self.ledger.note(self.now, kinds.PULLED, governor.number, fetch.object)
        if fetch.source == SERVER:
            source = len(self._governors)
        else:
            holder = self._by_source[fetch.source]
            source = holder.number
            if holder.reactor.find(fetch.object) is None:
                self._end_pull(governor, number)
                governor.events.append(FetchFailed(number, "it is not there"))
                return
        transfer = self._network.start(source, governor.number, fetch.size, self.now)
        self._pulls[transfer] = subject
        self._transfers[subject] = transfer

    def _pulled(self, transfer: Transfer) -> None:
        governor, number = self._pulls[transfer]
        fetch = self._end_pull(governor, number)
        self.ledger.note(self.now, kinds.ARRIVED, governor.number, fetch.object)
        self.ledger.arrived(fetch.size)
        governor.events.append(ObjectFetched(number, governor.content(fetch.size)))
        self.ledger.count_stored(governor)

    def _stop_fetch(self, governor: Governor, number: int) -> None:
        transfer = self._transfers.get((governor, number))
        if transfer is None:  # it has not begun; whoever wants to begin it finds it gone
            del governor.fetches[number]
        else:
            self._network.stop(transfer)
            self._end_pull(governor, number)

    def _end_pull(self, governor: Governor, number: int) -> Fetch:
        transfer = self._transfers.pop((governor, number), None)
        if transfer is not None:
            del self._pulls[transfer]
        governor.pulling -= 1
        self._stirred[governor] = None
        self._pull_next(governor)
        return governor.fetches.pop(number)
