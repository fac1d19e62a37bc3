"""A run in virtual time: the client, the server, its governors and the network between them.

All events of one instant are collected and then applied in a fixed order: arrivals, the governors'
turns, the server's turn, the network. Events of the same kind keep the order in which they were
created. So a run is deterministic.
"""

from __future__ import annotations

from collections.abc import Callable

from attrs import evolve

from rain.base.errors import InvariantError
from rain.base.ids import ClientId, RequestId, SessionId
from rain.base.wire.answers import WaitAnswer
from rain.base.wire.orders import Orders
from rain.base.wire.requests import OpenSession, Submit, WaitFor
from rain.lab.governors import Governors
from rain.lab.ledger import Ledger
from rain.lab.outcome import Outcome
from rain.lab.setup import Setup
from rain.lab.submitting import Submitting
from rain.lab.timeline import FOREVER, Timeline
from rain.lab.watched import WatchedScheduler
from rain.lab.workload import LabError
from rain.server.core.messages import (
    Answered,
    Asked,
    ClientJoined,
    DismissGovernor,
    Effect,
    GovernorJoined,
    GovernorUpdated,
    Notice,
    OrderGovernor,
    Refuse,
    SchedulerFailed,
    TurnInput,
)
from rain.server.core.reactor import Reactor
from rain.server.core.scheduling import Guard, unguarded
from rain.server.core.state import State

BEGIN = 1.0  # the first submit; all governors have joined before
CLIENT = ClientId(1)
SESSION = SessionId(1)
PATIENCE = 50
"""The most turns of the server in a row without progress, if only the server could go on."""

FRUITLESS = 2_000
"""The most turns without the end of a task, plus five for each task and object."""

EACH_SECOND = 60.0
"""For this many seconds without news the server runs a turn every second, like a real one."""

SELDOM = 0.05
"""After that it runs a turn whenever the time without news has grown by this fraction."""


class Simulation:
    """One run."""

    def __init__(
        self,
        setup: Setup,
        scheduler: WatchedScheduler,
        record: Callable[[TurnInput], None] | None = None,
        guard: Guard = unguarded,
    ) -> None:
        """`record` gets the input of every turn of the server, as a real server records it.

        Only `guard` knows how long a scheduler takes; if it interrupts one, the run ends.
        """
        self.ledger = Ledger(BEGIN)
        self._setup = setup
        self._latency = setup.cluster.latency
        self._timeline = Timeline()
        self._record = record
        self._over = False
        # The server.
        self._scheduler = scheduler
        settings = evolve(setup.settings, debug=setup.checking)
        self._reactor = Reactor(lambda: scheduler, State(settings), guard)
        self._inbox = TurnInput(0.0)
        self._free_at = 0.0  # it is busy with its last turn until then
        self._due = FOREVER
        self._turns = self._vain = 0
        self._heard = 0.0  # when the last news came
        self._fruitless = 0  # turns since the last end of a task
        self._left = 0  # unfinished tasks after the last turn
        workload = setup.workload
        self._patience = FRUITLESS + 5 * (len(workload.tasks) + len(workload.objects))
        # The client.
        self._submitting = Submitting(setup.workload, setup.expected, SESSION)
        self._batch = 0
        self._governors = Governors(
            setup, self._submitting, self._timeline, self.ledger, self._updated
        )

    def run(self) -> Outcome:
        """Runs from the first submit to the end of the last task."""
        self._inbox.from_governors += [
            GovernorJoined(governor.id, governor.address, governor.resources)
            for governor in self._governors.members
        ]
        self._inbox.from_clients.append(ClientJoined(CLIENT))
        self._timeline.at(BEGIN, self._begin, None)
        while not self._over:
            self._timeline.now = self._next_time()
            self._instant()
        outcome = self.ledger.outcome(self._timeline.now)
        outcome.turns = self._turns
        outcome.scheduler_runs = self._scheduler.runs
        outcome.scheduler_seconds = self._scheduler.seconds
        return outcome

    # Time.

    def _next_time(self) -> float:
        now = self._timeline.now
        if self._governors.are_stirred:
            return now
        time = min(self._governors.transfers.network.next_end(), self._timeline.next_time)
        server = self._free_at
        if not (self._inbox.from_governors or self._inbox.from_clients):
            server = max(server, self._due)
            if time == server == FOREVER:
                raise self._stuck()
        return max(min(time, server), now)

    def _instant(self) -> None:
        now = self._timeline.now
        self._timeline.run_due()
        self._governors.transfers.end_due()
        self._governors.turns()
        if now >= self._free_at:
            inbox = self._inbox
            if now >= self._due or inbox.from_governors or inbox.from_clients:
                self._server_turn()
        self._governors.transfers.network.settle(now)

    # The client.

    def _begin(self, _: None) -> None:
        self._inbox.from_clients.append(Asked(CLIENT, RequestId(0), OpenSession("lab", "")))
        self._submit(0)

    def _submit(self, number: int) -> None:
        """Submits a batch; then waits for the tasks that the next batch needs, or for the end."""
        self._batch = number
        inbox, batches = self._inbox.from_clients, self._setup.workload.batches
        submission = self._submitting.batch(number)
        inbox.append(Asked(CLIENT, RequestId(2 * number + 1), Submit(submission)))
        request = RequestId(2 * number + 2)
        if number + 1 == len(batches):
            inbox.append(Asked(CLIENT, request, WaitFor(SESSION, (), (), "session")))
            return
        following = batches[number + 1]
        if following.after:
            tasks = tuple(self._submitting.task_id(task) for task in following.after)
            inbox.append(Asked(CLIENT, request, WaitFor(SESSION, tasks, (), "all")))
        else:
            self._timeline.after(following.delay, self._submit, number + 1)

    def _answered(self) -> None:
        """The tasks that the client waits for have finished."""
        number = self._batch + 1
        batches = self._setup.workload.batches
        if number == len(batches):
            self._over = True
        else:
            delay = batches[number].delay + 2 * self._latency
            self._timeline.after(delay, self._submit, number)

    # The server.

    def _server_turn(self) -> None:
        given, self._inbox = self._inbox, TurnInput(0.0)
        given.now = self._timeline.now
        if given.from_governors or given.from_clients:
            self._heard = given.now
        if self._record is not None:
            self._record(given)
        output = self._reactor.turn(given)
        self._turns += 1
        if output.interrupted_after is not None:
            raise LabError(
                f"the scheduler {self._scheduler.name} was interrupted on"
                f" {self._setup.workload.name!r}: its run {self._scheduler.runs} took longer than"
                f" {self._setup.settings.scheduler_limit:g} seconds (--scheduler-limit)"
            )
        self._reactor.settle()
        self._due = self._next_turn()
        took = 0.0
        if output.scheduled:
            took = self._scheduler.heard * self._setup.overheads.news
            self._inbox.scheduling_took = took
        self._free_at = self._timeline.now + self._setup.overheads.turn + took
        told: list[tuple[int, Orders]] = []
        for effect in output.effects:
            if isinstance(effect, OrderGovernor):
                told.append((effect.governor - 1, effect.orders))
            else:
                self._carry(effect)
        if told:
            self._timeline.at(self._free_at + self._latency, self._governors.ordered, told)
        self._notice_standstill(bool(told))

    def _next_turn(self) -> float:
        """When the next turn of the reactor is due; seldom if nothing happens for years."""
        due, now = self._reactor.next_time(), self._timeline.now
        idle = now - self._heard
        return due if idle < EACH_SECOND else max(due, now + SELDOM * idle)

    def _updated(self, event: GovernorUpdated) -> None:
        self._inbox.from_governors.append(event)

    def _carry(self, effect: Effect) -> None:
        match effect:
            case Answered(_, WaitAnswer()):
                self._answered()
            case Refuse(_, reason):
                why = reason if isinstance(reason, str) else reason.message
                raise LabError(f"the server refused the graph {self._setup.workload.name!r}: {why}")
            case DismissGovernor(_, reason):
                raise InvariantError(f"a governor of the lab was dismissed: {reason}")
            case SchedulerFailed(_, cause):
                raise LabError(
                    f"the scheduler {self._scheduler.name} failed on"
                    f" {self._setup.workload.name!r}: {cause}"
                )
            case Notice(_, text):
                raise LabError(f"the graph {self._setup.workload.name!r} cannot run: {text}")
            case _:
                pass  # the client ignores other answers

    def _notice_standstill(self, told: bool) -> None:
        """Detects a scheduler that plans nothing or repeats itself; the run would never end."""
        if self._over:
            return
        state = self._reactor.state
        session = state.graph.sessions.get(SESSION)
        left = session.unfinished if session is not None else 0
        self._fruitless = self._fruitless + 1 if left == self._left and not state.growing else 0
        self._left = left
        if self._fruitless > self._patience:
            raise LabError(
                f"the scheduler {self._scheduler.name} makes no progress on"
                f" {self._setup.workload.name!r}: no task has ended in {self._fruitless} turns"
            )
        happens = told or self._timeline or self._governors.transfers.network.active
        # A large submission is read, and many nodes are freed, over several turns.
        if happens or state.growing or state.graph.unneeded or state.graph.remains:
            self._vain = 0
            return
        self._vain += 1
        if self._vain > PATIENCE:
            raise self._stuck()

    def _stuck(self) -> LabError:
        session = self._reactor.state.graph.sessions.get(SESSION)
        left = session.unfinished if session is not None else 0
        return LabError(
            f"the scheduler {self._scheduler.name} leaves {left} tasks of"
            f" {self._setup.workload.name!r} undone: nothing runs, nothing moves, and in"
            f" {PATIENCE} runs it has planned nothing"
        )
