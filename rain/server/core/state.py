"""The state of the reactor, and the effects of the current turn. The decisions are in the other
modules.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf

from attrs import Factory, define

from rain.base.failures import SessionFailure
from rain.base.ids import (
    ClientId,
    GovernorId,
    ObjectId,
    RequestId,
)
from rain.base.transfers import Transfers
from rain.base.wire.orders import Orders
from rain.graph import DataObject, Governor, Graph, Session, Task, Wait
from rain.graph.copy import Copy
from rain.graph.governor import Drain
from rain.graph.leaving import take_leave
from rain.graph.release import release, take_apart, take_unneeded
from rain.scheduler.api import News
from rain.scheduler.estimates import Estimates
from rain.scheduler.throttle import Throttle
from rain.server.core import resuming
from rain.server.core.back_off import BackOff
from rain.server.core.collector import Happenings
from rain.server.core.durable import DurableSessions
from rain.server.core.failed_fetches import FailedFetches
from rain.server.core.growing import Growing
from rain.server.core.happenings import Happening
from rain.server.core.infeasible import Infeasible
from rain.server.core.later_orders import LaterOrders
from rain.server.core.messages import DiscardConstants, Effect, OrderGovernor, Refuse
from rain.server.core.metering import Metering
from rain.server.core.nested_sessions import NestedSessions
from rain.server.core.reactor_settings import ReactorSettings
from rain.server.core.returning_clients import AskedAgain
from rain.server.core.succession import Succession
from rain.server.core.usage import Usage

LOG_COST = 200
"""Bytes that the output of one task takes besides its characters."""


@define
class SchedulerStatus:
    """Facts about the scheduler for people."""

    name: str = ""
    runs: int = 0
    seconds: float = 0.0  # of all runs together
    faults: int = 0  # runs that failed, so that `rain` planned in its place
    fault: str = ""  # why, the last time that it was told
    complained: float = 0.0  # and when that was
    rests_until: float = 0.0  # it was interrupted, and is not asked before that time


@define(eq=False)
class State:
    """The graph, the news for the scheduler, and the effects of the turn that is running."""

    settings: ReactorSettings = Factory(ReactorSettings)
    now: float = 0.0
    succession: Succession = Factory(Succession)
    graph: Graph = Factory(Graph)
    happenings: Happenings | None = None  # what happened, if there is an event log
    ignored: int = 0  # late or stale reports that were recognised as such

    # The scheduler.
    news: News = Factory(News)
    throttle: Throttle = Factory(lambda self: Throttle(self.settings.thresholds), takes_self=True)
    estimates: Estimates = Factory(Estimates)
    lessons: list[dict[Task, float]] = Factory(list)  # what has finished, and is not in those yet
    status: SchedulerStatus = Factory(SchedulerStatus)

    # Governors, and what goes to them.
    touched: dict[Governor, None] = Factory(dict)  # may be able to take tasks
    back_off: BackOff = Factory(BackOff)
    drains: dict[Governor, Drain] = Factory(dict)  # of governors that are about to leave
    limits_seen: int = -1  # the second in which governors that must be gone were looked at last
    # No governor can have been silent for too long before this time: what they say, and new ones,
    # only make it later.
    silence_due: float = -inf
    later: LaterOrders = Factory(LaterOrders)
    transfers: Transfers = Factory(Transfers)  # of all governors that were ever here

    # Copies of data objects.
    to_place: dict[Copy, None] = Factory(dict)  # those to be tried again, if they are still there
    unsourced: dict[DataObject, dict[Copy, None]] = Factory(dict)  # told that a source comes later
    fetches: FailedFetches = Factory(FailedFetches)
    circles_due: float = inf  # when suspects are looked at (rain/graph/circles.py)

    # Tasks.
    not_started: dict[Task, int] = Factory(dict)  # how often governors have handed them back
    infeasible: Infeasible = Factory(Infeasible)
    standing_by: dict[Task, SessionFailure] = Factory(dict)  # failed, unless their shadows finish
    forced: dict[DataObject, tuple[str, ...]] = Factory(dict)  # in test mode: where tests want them

    # Clients, their sessions, and users.
    waits: dict[RequestId, Wait] = Factory(dict)
    growing: dict[ClientId, Growing] = Factory(dict)  # submissions that are not read to their ends
    asked: AskedAgain = Factory(AskedAgain)  # calls of clients that may come back
    nested: NestedSessions = Factory(NestedSessions)
    durable: DurableSessions = Factory(DurableSessions)
    left: dict[Session, str] = Factory(dict)  # that others still have something of: how it ended
    usage: Usage = Factory(Usage)
    metering: Metering = Factory(Metering)

    # The effects of the turn.
    _effects: list[Effect] = Factory(list)
    _again: list[Effect] = Factory(list)  # orders of earlier turns that were missed
    _orders: dict[GovernorId, Orders] = Factory(dict)

    @property
    def has_effects(self) -> bool:
        """Whether the running turn has made any effect."""
        return bool(self._effects or self._again or self._orders)

    def orders(self, governor: Governor) -> Orders:
        """The batch for a governor in this turn."""
        orders = self._orders.get(governor.id)
        if orders is None:
            orders = self._orders[governor.id] = Orders()
        return orders

    def forget_governor(self, governor: Governor) -> None:
        """A governor has gone: drops the orders that wait for it."""
        self._orders.pop(governor.id, None)
        self.later.forget(governor.id)
        self.estimates.forget(governor)
        self.back_off.forget(governor)
        self.touched.pop(governor, None)
        self.drains.pop(governor, None)
        self.fetches.forget(lambda _, reader: reader is governor)

    def emit(self, effect: Effect) -> None:
        """One more effect of this turn."""
        self._effects.append(effect)

    def order_again(self, governor: GovernorId, missed: Iterable[Orders]) -> None:
        """Orders that a governor has missed; they come before those of this turn."""
        self._again += [OrderGovernor(governor, orders) for orders in missed]

    def refuse(self, request: RequestId, reason: str) -> None:
        """The answer to a request that cannot be granted."""
        self._effects.append(Refuse(request, reason))

    def note(self, happening: Happening, size: int = 0) -> None:
        """Something rare has happened; `size` is the length of its texts."""
        if self.happenings is not None:
            self.happenings.add(happening, size)

    def take_effects(self) -> list[Effect]:
        """Hands over all effects of the turn, in the order in which they are carried out.

        The orders come first, one batch per governor. A process that is woken by a message may take
        the processor at once, and governors are on the longest way to the next result, so they are
        woken before the clients that this turn answers.
        """
        effects, orders = self._effects, self._orders
        if self.later.due != inf:
            self.later.join(orders, self.now)
        if self.graph.unspooled:
            effects.append(DiscardConstants(self.graph.unspooled))
            self.graph.unspooled = []
        self._effects = []
        if self.asked.open:
            self.asked.keep(effects)
        if orders:
            self._orders = {}
            first: list[Effect] = []
            returns = self.settings.returns
            for governor, batch in orders.items():  # mostly one
                known = self.graph.governors.get(governor) if returns else None
                if known is not None:
                    resuming.keep(known, batch)
                first.append(OrderGovernor(governor, batch))
            effects[:0] = first
        if self._again:
            effects[:0] = self._again
            self._again = []
        return effects

    def release(self, objects: Sequence[DataObject]) -> None:
        """Releases unneeded objects, here and on the governors that hold them. A very large release
        is spread over several turns.
        """
        most = self.settings.let_go_at_once
        drops, _ = release(self.graph, objects, most)
        for governor, dropped in drops.items():
            self._withdraw(governor, dropped)
            self.orders(governor).drops += dropped

    def release_soon(self, objects: Sequence[DataObject]) -> None:
        """Releases unneeded objects when no client has asked for it.

        It is not urgent, and a separate message costs as much as ten tasks. So it waits for another
        message to these governors; the less data they hold, the longer it may wait.
        """
        drops, size = release(self.graph, objects, self.settings.let_go_at_once)
        for governor, dropped in drops.items():
            self._withdraw(governor, dropped)
            self.later.of(governor.id, size, self.now, self.settings).drops += dropped

    def let_go(self) -> None:
        """One more part of what was too much for an earlier turn."""
        graph, most = self.graph, self.settings.let_go_at_once
        if graph.unneeded:
            self.release_soon(take_unneeded(graph, most))
        if graph.remains:
            take_apart(graph, most)

    def take_leave(self) -> None:
        """Removes nodes that are not needed and have no handle; the scheduler gets this as news."""
        self.have_gone(take_leave(self.graph, self.settings.let_go_at_once))

    def have_gone(self, gone: Sequence[Task | DataObject]) -> None:
        """These have left the graph."""
        self.news.gone += gone
        for node in gone:
            session = node.session
            if isinstance(node, Task):
                if session.done is not None:
                    session.done.pop(node.id, None)
                if session.cached:
                    session.cached.pop(node.id, None)
                log = session.logs.pop(node.id, None)
                if log is not None:
                    session.logs_size -= len(log) + LOG_COST
                self.not_started.pop(node, None)
        if self.fetches.remade or self.fetches.postponed:
            objects = set(gone)
            self.fetches.forget(lambda data_object, _: data_object in objects)

    def forget_session(self, governor: Governor, session: Session, held: float) -> None:
        """Tells a governor to forget a session, and with it whatever it should drop of it.

        That is urgent if it works for the session (`held` is infinite then), and waits for other
        orders if not: the longer the less it holds. Orders of this turn about the session are taken
        back: a governor forgets first, and would keep what it fetches then.
        """
        orders = self._orders.get(governor.id)
        if orders is not None:
            orders.leave_out(session.id)
        self.later.leave_out(governor.id, session.id)
        if held == inf:
            self.orders(governor).forget_sessions.append(session.id)
        else:
            later = self.later.of(governor.id, held, self.now, self.settings)
            later.forget_sessions.append(session.id)

    def give_all(self) -> None:
        """All orders that wait go with this turn, with others or alone."""
        self.later.join_all(self._orders)

    def drop(self, data_object: DataObject, governor: Governor) -> None:
        """Tells a governor that it need not hold an object any more."""
        self._withdraw(governor, (data_object.id,))
        self.orders(governor).drops.append(data_object.id)

    def _withdraw(self, governor: Governor, dropped: Sequence[ObjectId]) -> None:
        """Takes back orders of this turn to fetch what shall be dropped.

        A governor drops first and then fetches, so it would keep a copy that the server does not
        know of.
        """
        orders = self._orders.get(governor.id)
        if orders is not None and orders.objects.ids:
            orders.objects.leave_out(dropped)

    def stop(self, governor: Governor, task: Task, run: int) -> None:
        """Tells a governor to stop the run of this number, and frees its place there.

        It may have finished the task already: the drops are for that. Orders for copies of what it
        was making itself, for the sake of another output, it has ignored: they are given again.
        """
        orders = self.orders(governor)
        orders.stop_ids.append(task.id)
        orders.stop_runs.append(run)
        self.touched[governor] = None
        self.forget_outputs(governor, task)

    def ask_back(self, governor: Governor, task: Task, run: int) -> None:
        """Tells a governor to return the run of this number, unless it has begun it."""
        asked = self.orders(governor).asked
        asked.ids.append(task.id)
        asked.runs.append(run)

    def cancel(self, governor: Governor, task: Task, run: int, grace: float) -> None:
        """Tells a governor to end the run of this number, and to say when it has ended."""
        cancelled = self.orders(governor).cancelled
        cancelled.ids.append(task.id)
        cancelled.runs.append(run)
        cancelled.graces.append(grace)
        self.touched[governor] = None
        self.forget_outputs(governor, task)

    def forget_outputs(self, governor: Governor, task: Task) -> None:
        """A governor does not make the outputs of a task any more; it shall not keep them."""
        for output in task.outputs:
            copy = governor.objects.get(output)
            if copy is None or not copy.is_known:
                self.drop(output, governor)
            else:
                self.to_place[copy] = None
