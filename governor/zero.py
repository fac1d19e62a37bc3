"""A governor that does no work, to measure the server alone.

It reports every task as finished at once. It stores no data: outputs are empty, and copies are
reported as present at once.
"""

from __future__ import annotations

import trio

from rain.base.errors import ProtocolError
from rain.base.ids import KindId, ObjectId, SessionId, TaskId, session_of, spell
from rain.base.resources import Resources
from rain.base.wire.answers import GovernorReport, RunningTask
from rain.base.wire.orders import Orders
from rain.base.wire.printed import Watch
from rain.base.wire.update import Update
from rain.governor.core.reactor import HEARTBEAT
from rain.governor.uplink import Uplink
from rain.rpc.background import Background
from rain.stream.holder import Held


class HoldsNothing:
    """Implements `StreamSource`."""

    def find(self, object_id: ObjectId) -> Held | None:
        del object_id
        return None


class ZeroService:
    """Implements `ControlHandler`; its only state is the kinds."""

    def __init__(self, resources: Resources, background: Background, uplink: Uplink) -> None:
        self._background = background
        self._resources = resources
        self._outputs: dict[SessionId, dict[KindId, int]] = {}  # how many, by the kind of task
        self._uplink = uplink
        self._heard = 0  # the number of the last orders
        self._early: list[Orders] = []  # orders that came before the registration was complete

    def start(self) -> None:
        """Starts to answer orders: the registration is complete."""
        early, self._early = self._early, []
        for orders in early:
            try:
                self.order(orders)
            except ProtocolError as error:
                self._uplink.reject(str(error))
                return
        self._background.start(self._beat)

    def order(self, orders: Orders) -> None:
        if not self._uplink.is_registered:
            self._early.append(orders)
            return
        for session in orders.forget_sessions:
            self._outputs.pop(session, None)
        for kind in orders.task_kinds:
            kinds = self._outputs.setdefault(session_of(kind.id), {})
            kinds[kind.id] = len(kind.outputs)
        objects = orders.objects
        fetched = zip(objects.ids, objects.sources, strict=True)
        update = Update(located=[object_id for object_id, source in fetched if source])
        self._finish(orders, update)
        self._heard = update.heard = orders.number
        if update.located or update.finished.ids:
            self._uplink.update(update)

    def _finish(self, orders: Orders, update: Update) -> None:
        tasks, finished = orders.tasks, update.finished
        finished.ids = tasks.ids
        finished.runs = tasks.runs
        finished.durations = [0.0] * len(tasks.ids)
        finished.output_counts = [self._outputs_of(kind) for kind in tasks.kinds]
        finished.sizes = [0] * len(tasks.outputs)
        finished.data = [b""] * len(tasks.outputs)

    def _outputs_of(self, kind: KindId) -> int:
        try:
            return self._outputs[session_of(kind)][kind]
        except KeyError:
            raise ProtocolError(f"the kind {spell(kind)} of tasks was not told") from None

    def applied(self, number: int) -> None:
        """It keeps no news: when the server dies, it ends."""

    def report(self) -> GovernorReport:
        resources = tuple(self._resources.items())
        return GovernorReport(self._uplink.address, (), (), (), resources)

    def running(self, task: TaskId) -> RunningTask:
        del task  # none runs here for any time
        return RunningTask()

    def watch(self, number: int, watch: Watch | None) -> None:
        """Its tasks print nothing."""

    def call_back(self, ticket: bytes) -> None:
        """Nobody reads here."""

    def stop(self, reason: str) -> None:
        self._uplink.stop(reason)

    def left(self, cause: str, *, at_fault: bool = False) -> None:
        del at_fault
        self._uplink.left(cause, at_fault=True)  # it has no news with which it could go on

    def drain(self) -> bool:
        return False  # it has nothing that should not be lost

    async def _beat(self) -> None:
        while True:
            self._uplink.update(Update(heard=self._heard))
            await trio.sleep(HEARTBEAT)
