"""The state of the reactor, and the effects of the current turn. The decisions are in the other
modules.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from math import inf

from attrs import Factory, define

from rain.base.failures import SessionFailure
from rain.base.ids import (
    NUMBER_BITS,
    ClientId,
    GovernorId,
    KindId,
    ObjectId,
    RequestId,
    SessionId,
    TaskId,
)
from rain.base.transfers import Transfers
from rain.base.usage import Used
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
from rain.server.core.back_off import Rest
from rain.server.core.collector import Happenings
from rain.server.core.durable import Durable, Opening
from rain.server.core.growing import Growing
from rain.server.core.happenings import Happening
from rain.server.core.held import Held
from rain.server.core.messages import DiscardConstants, Effect, OrderGovernor, Refuse
from rain.server.core.reactor_settings import ReactorSettings
from rain.server.core.returning_clients import AskedAgain

CLUSTER_BYTES = 16
"""How long the name of a cluster is."""

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
class Later:
    """Objects that a governor need not hold any more. It is told in the next message that is sent
    anyway.
    """

    due: float = inf  # it waits no longer than that
    held: float = 0  # bytes that the governor holds in vain, at the most
    drops: list[ObjectId] = Factory(list)
    forget_sessions: list[SessionId] = Factory(list)

    def join(self, orders: Orders) -> None:
        """Goes along with these."""
        orders.drops += self.drops
        orders.forget_sessions += self.forget_sessions


@define(eq=False)
class Quota:
    """The tasks of a user whose use of the cluster is limited (see `quotas`)."""

    let_on: dict[Task, None] = Factory(dict)  # those that may run, or do
    # Those that are limited, in heaps: by session, and whether they read what tasks have made.
    waiting: dict[tuple[Session, bool], list[tuple[int, int, TaskId]]] = Factory(dict)


@define(eq=False)
class State:
    """The graph, the news for the scheduler, and the effects of the turn that is running."""

    settings: ReactorSettings = Factory(ReactorSettings)
    graph: Graph = Factory(Graph)
    news: News = Factory(News)
    throttle: Throttle = Factory(lambda self: Throttle(self.settings.thresholds), takes_self=True)
    estimates: Estimates = Factory(Estimates)
    lessons: list[dict[Task, float]] = Factory(list)  # what has finished, and is not in those yet
    status: SchedulerStatus = Factory(SchedulerStatus)
    now: float = 0.0
    waits: dict[RequestId, Wait] = Factory(dict)
    touched: dict[Governor, None] = Factory(dict)  # may be able to take tasks
    remade: dict[tuple[DataObject, Governor], int] = Factory(dict)  # how often for want of a copy
    postponed: dict[Copy, float] = Factory(dict)  # offered again: when
    to_place: dict[Copy, None] = Factory(dict)  # those to be tried again, if they are still there
    unsourced: dict[DataObject, dict[Copy, None]] = Factory(dict)  # told that a source comes later
    not_started: dict[Task, int] = Factory(dict)  # how often governors have handed them back
    rests: dict[Governor, Rest] = Factory(dict)  # the last one of each governor that had any
    blamed: dict[Governor, int] = Factory(dict)  # for tasks that have finished elsewhere
    drains: dict[Governor, Drain] = Factory(dict)  # of governors that are about to leave
    resting: dict[Governor, float] = Factory(dict)  # those that still rest: until
    limits_seen: int = -1  # the second in which governors that must be gone were looked at last
    infeasible: dict[tuple[Session, KindId], float] = Factory(dict)  # kinds no governor fits: until
    hopeless: deque[Task] = Factory(deque)  # tasks of those kinds that are to be given up
    nested: dict[Session, int] = Factory(dict)  # sessions of running tasks: the number of the run
    nests: bool = False  # a running task has opened or joined a session at least once
    held: dict[Task, Held] = Factory(dict)  # for tasks that are tried again
    standing_by: dict[Task, SessionFailure] = Factory(dict)  # failed, unless their shadows finish
    used: dict[tuple[str, int], Used] = Factory(dict)  # of each user on each day
    stored_since: float = 0.0  # until when what is stored counts in these
    transfers: Transfers = Factory(Transfers)  # of all governors that were ever here
    meters: bool = False  # the file of users limits what some user may use at a time,
    quotas: dict[str, Quota] = Factory(dict)  # and these have had ready tasks
    durable: dict[str, Durable] = Factory(dict)  # what clients have under names
    openings: dict[Session, Opening] = Factory(dict)  # the sessions that they have opened by these
    set_free: dict[Session, None] = Factory(dict)  # sessions of tasks that were cancelled alone
    left: dict[Session, str] = Factory(dict)  # that others still have something of: how it ended
    circles_due: float = inf  # when suspects are looked at (rain/graph/circles.py)
    growing: dict[ClientId, Growing] = Factory(dict)  # submissions that are not read to their ends
    forced: dict[DataObject, tuple[str, ...]] = Factory(dict)  # in test mode: where tests want them
    later: dict[GovernorId, Later] = Factory(dict)  # what waits for other orders
    later_due: float = inf  # and when the first of it goes without any
    # No governor can have been silent for too long before this time: what they say, and new ones,
    # only make it later.
    silence_due: float = -inf
    cluster: bytes = b""  # what clients know it by; the same when the server comes back
    generation: int = 0  # of the lease with which the server leads the cluster
    asked: AskedAgain = Factory(AskedAgain)  # calls of clients that may come back
    happenings: Happenings | None = None  # what happened, if there is an event log
    last_client: int = 0  # the largest numbers that earlier servers with this state have used
    last_request: int = 0
    ignored: int = 0  # late or stale reports that were recognised as such

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
        self.later.pop(governor.id, None)
        self.estimates.forget(governor)
        for noted in (self.touched, self.rests, self.resting, self.blamed, self.drains):
            noted.pop(governor, None)
        self.forget_fetches(lambda _, reader: reader is governor)

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
        if self.later_due != inf:
            self._pass_on()
        if self.graph.unspooled:
            effects.append(DiscardConstants(self.graph.unspooled))
            self.graph.unspooled = []
        self._effects = []
        if self.asked.open:
            self.asked.keep(effects)
        if orders:
            self._orders = {}
            told: list[Effect] = []
            returns = self.settings.returns
            for governor, batch in orders.items():  # mostly one
                known = self.graph.governors.get(governor) if returns else None
                if known is not None:
                    resuming.keep(known, batch)
                told.append(OrderGovernor(governor, batch))
            effects[:0] = told
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
            self._later_for(governor, size).drops += dropped

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
        if self.remade or self.postponed:
            objects = set(gone)
            self.forget_fetches(lambda data_object, _: data_object in objects)

    def forget_session(self, governor: Governor, session: Session, held: float) -> None:
        """Tells a governor to forget a session, and with it whatever it should drop of it.

        That is urgent if it works for the session (`held` is infinite then), and waits for other
        orders if not: the longer the less it holds. Orders of this turn about the session are taken
        back: a governor forgets first, and would keep what it fetches then.
        """
        orders = self._orders.get(governor.id)
        if orders is not None:
            orders.leave_out(session.id)
        later = self.later.get(governor.id)
        if later is not None and later.drops:
            later.drops = [i for i in later.drops if i >> NUMBER_BITS != session.id]
        if held == inf:
            self.orders(governor).forget_sessions.append(session.id)
            return
        self._later_for(governor, held).forget_sessions.append(session.id)

    def _later_for(self, governor: Governor, held: float) -> Later:
        """Where news wait for a governor, which holds `held` bytes until it hears them."""
        settings, later = self.settings, self.later.get(governor.id)
        if later is None:
            later = self.later[governor.id] = Later()
        later.held += held
        due = self.now + (
            settings.little_wait if later.held <= settings.little else settings.much_wait
        )
        if due < later.due:
            later.due = due
            self.later_due = min(due, self.later_due)
        return later

    def give_all(self) -> None:
        """All that waits goes with this turn, with other orders or alone."""
        for governor, later in self.later.items():
            later.join(self._orders.setdefault(governor, Orders()))
        self.later.clear()
        self.later_due = inf

    def _pass_on(self) -> None:
        """Sends waiting orders along with this turn's orders, or alone when their time has come."""
        waiting = self.later
        for governor, orders in self._orders.items():
            later = waiting.pop(governor, None)
            if later is not None:
                later.join(orders)
        if self.now >= self.later_due:
            for governor in [found for found, later in waiting.items() if later.due <= self.now]:
                waiting.pop(governor).join(self._orders.setdefault(governor, Orders()))
            self.later_due = min([later.due for later in waiting.values()], default=inf)
        elif not waiting:
            self.later_due = inf

    def fetched(self, copy: Copy) -> None:
        """A copy has arrived, or is given up: failures before that do not count any more."""
        copy.tries = 0
        self.remade.pop((copy.object, copy.governor), None)
        self.postponed.pop(copy, None)

    def forget_fetches(self, gone: Callable[[DataObject, Governor], bool]) -> None:
        """Forgets the failures of copies that are gone."""
        for key in [key for key in self.remade if gone(*key)]:
            del self.remade[key]
        for copy in [copy for copy in self.postponed if gone(copy.object, copy.governor)]:
            del self.postponed[copy]

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
