"""The governors of one run: their turns, their running tasks, and their stores."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rain.base.errors import InvariantError
from rain.base.ids import GovernorId, TaskId
from rain.base.wire.orders import Orders
from rain.base.wire.update import Update
from rain.governor.core.effects import (
    DeleteFiles,
    FetchObject,
    RunBuiltin,
    SendUpdate,
    StopBuiltin,
    StopFetch,
)
from rain.governor.core.events import BuiltinDone, OrdersReceived, Tick
from rain.governor.core.results import Failed
from rain.lab import ledger as kinds
from rain.lab.ledger import Ledger
from rain.lab.machine import Governor, RunningTask
from rain.lab.setup import Setup
from rain.lab.submitting import Submitting
from rain.lab.timeline import Timeline
from rain.lab.transfers import Transfers
from rain.server.core.messages import GovernorUpdated

_SILENCE = Update()


class Governors:
    """All governors, and the transfers between them."""

    def __init__(
        self,
        setup: Setup,
        submitting: Submitting,
        timeline: Timeline,
        ledger: Ledger,
        tell: Callable[[GovernorUpdated], None],
    ) -> None:
        """`tell` gets each update when it arrives at the server."""
        self._setup = setup
        self._submitting = submitting
        self._timeline = timeline
        self._ledger = ledger
        self._tell = tell
        self.members = [
            Governor(
                number,
                GovernorId(number + 1),
                f"governor-{number}:1",
                resources,
                checking=setup.checking,
            )
            for number, resources in enumerate(setup.cluster.governors)
        ]
        self.transfers = Transfers(setup.cluster, self.members, timeline, ledger, self.stir)
        self._stirred: dict[Governor, None] = {}

    @property
    def are_stirred(self) -> bool:
        """Whether any governor has something to do now."""
        return bool(self._stirred)

    def stir(self, governor: Governor) -> None:
        """Marks a governor that has something to do now."""
        self._stirred[governor] = None

    def turns(self) -> None:
        """Runs a turn of each marked governor."""
        if self._stirred:
            stirred, self._stirred = self._stirred, {}
            for governor in stirred:
                self._turn(governor)

    def ordered(self, told: Sequence[tuple[int, Orders]]) -> None:
        """Delivers orders of the server, by governor number."""
        now = self._timeline.now
        for number, orders in told:
            governor = self.members[number]
            self._ledger.note(now, kinds.ORDERED, number, len(orders.tasks.ids))
            governor.events.append(OrdersReceived(orders))
            self.stir(governor)

    def _turn(self, governor: Governor) -> None:
        events, governor.events = governor.events, []
        for effect in governor.reactor.turn(self._timeline.now, events):
            match effect:
                case RunBuiltin(run, task_id):
                    self._start(governor, run, task_id)
                case SendUpdate(update):
                    if update != _SILENCE:
                        event = GovernorUpdated(governor.id, update)
                        self._timeline.after(self._setup.cluster.latency, self._tell, event)
                case FetchObject():
                    self.transfers.fetch(governor, effect)
                case StopFetch(fetch):
                    self.transfers.stop(governor, fetch)
                case DeleteFiles(files):
                    governor.delete(files)
                    self._ledger.count_stored(governor)
                case StopBuiltin(run):
                    self._stop_run(governor, run)
                case _:
                    raise InvariantError(f"the lab has no executors: {effect}")
        self._wake_later(governor)

    def _start(self, governor: Governor, run: int, task_id: TaskId) -> None:
        overheads = self._setup.overheads
        if governor.ready_at < 0:
            governor.ready_at = self._timeline.now + overheads.start
        start = max(self._timeline.now, governor.ready_at)
        number = self._submitting.task_number(task_id)
        governor.runs[run] = RunningTask(task_id, start)
        self._ledger.note(start, kinds.STARTED, governor.number, number)
        end = start + self._setup.workload.tasks[number].duration + overheads.task
        self._timeline.at(end, self._ran, (governor, run))

    def _wake_later(self, governor: Governor) -> None:
        """Schedules the turn in which lingering objects expire."""
        lingering = governor.reactor.state.objects.lingering.times
        if lingering:
            time = next(iter(lingering.values()))
            if governor.wakes_at > time or governor.wakes_at <= self._timeline.now:
                governor.wakes_at = time
                self._timeline.at(time, self._wake, governor)

    def _wake(self, governor: Governor) -> None:
        if governor.wakes_at == self._timeline.now:
            governor.events.append(Tick())
            self.stir(governor)

    def _ran(self, subject: tuple[Governor, int]) -> None:
        governor, number = subject
        run = governor.runs.pop(number, None)
        if run is None:
            return  # it was stopped already
        position = self._submitting.task_number(run.task)
        workload = self._setup.workload
        task = workload.tasks[position]
        self._ledger.note(self._timeline.now, kinds.ENDED, governor.number, position)
        self._ledger.ran(position, governor.number, run.started, self._timeline.now)
        sizes = [workload.objects[made].size for made in task.outputs]
        governor.events.append(BuiltinDone(number, task.duration, governor.make(sizes)))
        self._ledger.count_stored(governor)
        self.stir(governor)

    def _stop_run(self, governor: Governor, run: int) -> None:
        if governor.runs.pop(run, None) is not None:
            governor.events.append(BuiltinDone(run, 0.0, Failed("it was stopped")))
            self.stir(governor)
