"""Plans every task where it would end first, but only within a limited horizon.

Ready and soon-to-be-ready tasks are taken in the order of urgency. Each goes where it would end
first, given when cpus are free and when its inputs arrive over links shared with all other planned
transfers. Only tasks that can start within the horizon are planned; the rest stays open, because
predictions for later are unreliable. So thousands of small tasks are planned ahead, and large ones
shortly before they start. A task whose name has needed much memory is planned for when a governor
has it; others go on meanwhile. Tiny tasks are not worth this effort: they take the express lane.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import partial
from itertools import islice
from math import inf

from attrs import Factory, define

from rain.base.states import TaskRow
from rain.base.wire import INLINE_LIMIT
from rain.graph import DataObject, Governor, Graph, Session, Task
from rain.graph.exchanges import is_exchange
from rain.graph.needs import needed
from rain.scheduler.api import News, Plan
from rain.scheduler.toolbox.accounts import Accounts
from rain.scheduler.toolbox.balance import feed_hungry
from rain.scheduler.toolbox.choice import choose_place, leave_site, take_site
from rain.scheduler.toolbox.express import TINY, Express, Sights, look_at
from rain.scheduler.toolbox.levels import enter_levels
from rain.scheduler.toolbox.loads import done_in_no_time
from rain.scheduler.toolbox.paces import Paces
from rain.scheduler.toolbox.places import LOOKED_AT
from rain.scheduler.toolbox.precedence import overtakes
from rain.scheduler.toolbox.shares import Shares
from rain.scheduler.toolbox.sites import Site, Sites
from rain.scheduler.toolbox.slots import kept
from rain.scheduler.toolbox.too_long import TooLong
from rain.scheduler.toolbox.transfers import (
    Note,
    PossiblePlace,
    note_of,
    occupy_links,
    place_on,
    wanted_inputs,
)
from rain.scheduler.toolbox.unproven import OFF, Unproven, that_wait
from rain.scheduler.toolbox.waiting_list import needs_plan

HORIZON = 1.0
"""Seconds; tasks that start later than this are not planned yet."""

HELD = 32
"""A run ends after this many tasks that did not fit."""

LACKING = 1024
"""Or after this many that lack memory; other tasks may be behind them."""


@define
class _PutOff:
    """The tasks of one run that cannot start soon."""

    held: list[Task] = Factory(list)  # for want of cpus
    lacking: list[Task] = Factory(list)  # for want of memory
    short: float = inf  # bytes that no governor had for one of these
    tried: dict[Site, None] = Factory(dict)  # sites where cpus are reserved

    def lacks(self, task: Task, need: int) -> bool:
        """Whether a task is put off because a smaller or equal one was."""
        if need < self.short:
            return False
        self.lacking.append(task)
        return True

    def is_enough(self) -> bool:
        """Whether no more are looked at."""
        return len(self.held) >= HELD or len(self.lacking) >= LACKING


class HorizonScheduler:
    """Keeps an account of each session, and the times of each governor."""

    shares_users = True  # by `Paces`

    def __init__(self, horizon: float = HORIZON) -> None:
        self._horizon = horizon
        self._sites = Sites()
        self._paces = Paces()
        self._accounts = Accounts(self._paces)
        self._shares = Shares(self._paces)
        self._unproven = Unproven()
        self._too_long = TooLong()
        self._express = Express(self._shares, self._unproven.add)

    def schedule(self, graph: Graph, news: News, plan: Plan) -> None:
        """Plans tasks that can start soon."""
        changed = bool(news.joined or news.left) or len(graph.governors) != len(self._sites)
        self._sites.begin_run(graph.governors.values(), changed=changed)
        self._paces.recount(graph, news, plan.now)
        sights = Sights(plan.estimates)
        early = self._hear(news, plan)
        if news.submitted:
            self._enter(news.submitted, sights, plan)
        if news.unplanned:
            self._enter_again(news.unplanned, plan)
        if news.ready:
            self._list(task for task in news.ready if needs_plan(task))
        if news.cleared:
            self._forget(news.cleared)
        self._list_again(graph, plan.now)
        governors = [governor for governor in graph.governors.values() if not governor.rests]
        if not governors:
            return
        if self._unproven.watches:
            self._plan_again(plan)
        express = self._express
        if express.lines:
            self._plan_express(governors, sights, plan)
        if self._accounts.listed and self._plan_frontier(graph, plan) and express.lines:
            self._plan_express(governors, sights, plan)
        if express.lines or (early and self._accounts.listed):
            plan.run_soon()
        if len(governors) > 1:
            feed_hungry(governors, plan, self._moves, partial(self._gives, plan))

    # News.

    def _hear(self, news: News, plan: Plan) -> bool:
        """Notes ended tasks; returns whether any has ended much earlier than predicted."""
        early = bool(news.finished) and self._hear_of_ends(news.finished, plan)
        if news.ended:
            self._hear_of_ends(news.ended, plan)
        return early or bool(news.ended)  # nobody predicts failures

    def _forget(self, sessions: Collection[Session]) -> None:
        self._accounts.forget(sessions)  # even if one has submitted since
        self._express.forget(sessions)
        self._shares.forget(sessions)
        self._unproven.forget(sessions)
        self._too_long.forget(sessions)
        for site in self._sites:
            if site.holds:
                site.forget_ended()

    def _hear_of_ends(self, ended: list[Task], plan: Plan) -> bool:
        """Notes ended tasks; returns whether any has ended much earlier than predicted.

        A governor may then finish all its planned tasks long before the next run.
        """
        freed: dict[Site, None] = {}
        early = False
        for task in ended:
            note = kept(task, Note)
            if note is not None and not note.listed:  # there is none in an ended session
                if note.site is not None:
                    freed[note.site] = None
                    early = early or note.end - plan.now > note.seconds / 2
                leave_site(task, note)
                if task.is_done:
                    self._accounts.finished(task, note.seconds)
            for output in task.outputs:
                if output.size > INLINE_LIMIT and output.is_finished:
                    _bring_to_followers(output, plan)
        self._look_at(freed, plan)
        return early

    def _look_at(self, freed: Iterable[Site], plan: Plan) -> None:
        """Tasks have left these sites, some of which may have gone."""
        for site in freed:
            if self._sites.get(site.governor) is site:
                self._sites.refresh(site, plan.now)

    def _enter(self, tasks: list[Task], sights: Sights, plan: Plan) -> None:
        """Adds new tasks, producers before consumers. Levels are used if any is not tiny."""
        others = self._express.enter(tasks, sights, plan.now)
        if others:
            enter_levels(tasks, plan, Note)
            for task in tasks:
                if sights.of(task).passes:
                    note_of(task).listed = True
            self._accounts.submitted(others)
            self._list(task for task in others if not task.missing)

    def _enter_again(self, tasks: Iterable[Task], plan: Plan) -> None:
        """Adds tasks that have lost their plan, in any order."""
        found: list[Task] = []
        freed: dict[Site, None] = {}
        for task in sorted(tasks, key=lambda task: task.order):
            if task.is_known:
                note = note_of(task)
                if note.site is not None:
                    freed[note.site] = None
                leave_site(task, note)
                if needs_plan(task):
                    found.append(task)
        self._look_at(freed, plan)
        express = [task for task in found if note_of(task).listed]
        self._express.add(express)
        self._list(task for task in found if not task.missing)

    def _plan_again(self, plan: Plan) -> None:
        """Lists waiting tasks again that were counted for less than they take."""
        cpus = self._sites.real_cpus
        for tasks, counted in self._unproven.take_wrong(cpus, plan):
            waiting = that_wait(tasks)
            for task in waiting:
                note = note_of(task)
                if note.site is not None:  # it did not go through the express lane
                    leave_site(task, note)
                    self._accounts.taken_back(task, note.seconds)
                plan.take_back(task)
            enter_levels(waiting, plan, Note)
            self._accounts.submitted(waiting)
            self._list(task for task in waiting if not task.missing)
            share, each = self._shares.of(tasks[0].session), tasks[0].cpus * 1000.0 / max(cpus, 1)
            each *= share.pace
            more = plan.estimates.duration(tasks[0]) - counted
            share.ready += each * (counted * len(waiting) - more * (len(tasks) - len(waiting)))

    def _list_again(self, graph: Graph, now: float) -> None:
        """Lists tasks whose time has come, and those for which a governor has the time by now."""
        if self._accounts.sleeping:
            self._list(task for task in self._accounts.due(now) if needs_plan(task))
        if self._too_long:
            self._list(self._too_long.take(graph.governors.values()))

    def _list(self, tasks: Iterable[Task]) -> None:
        for task in tasks:
            note = note_of(task)
            if not note.listed and task.scheduled is None:
                note.listed = True
                self._accounts.list(task, note.urgency)

    # Planning.

    def _plan_express(self, governors: list[Governor], sights: Sights, plan: Plan) -> None:
        planned, refused = self._express.plan(governors, self._sites.real_cpus, sights, plan)
        if refused:
            enter_levels(refused, plan, Note)
            self._accounts.submitted(refused)
            self._list(refused)
        self._list_consumers(planned)

    def _list_consumers(self, planned: Iterable[Task]) -> None:
        """Lists the consumers of these tasks; most of them are in the express lane too."""
        for task in planned:
            for output in task.outputs:
                for consumer in output.consumers:
                    if consumer.missing and consumer.scheduled is None:
                        note = note_of(consumer)
                        if not note.listed:
                            note.listed = True
                            self._accounts.list(consumer, note.urgency)

    def _plan_frontier(self, graph: Graph, plan: Plan) -> bool:
        """Plans tasks that can start soon; returns whether some belong to the express lane."""
        sites, now = self._sites, plan.now
        off = _PutOff()
        express: list[Task] = []
        self._shares.begin_run(graph.governors.values(), now)
        for task in self._accounts.take(sites.cpus):
            note = note_of(task)
            note.listed = False
            if not needs_plan(task):
                continue
            ready = _ready_at(task, now)
            is_scarce = ready is not None and bool(task.kind.resources.others)
            if is_scarce or (note.seconds >= TINY and _is_tiny(task, note, plan)):
                express.append(task)
                continue
            if ready is None:
                continue  # it is listed again when its producers are planned
            note.need = needed(task) if graph.has_needs else 0
            if not off.lacks(task, note.need):
                self._plan_one(task, note, ready, plan, off)
            if off.is_enough():
                break
        self._list(off.held)
        self._list(off.lacking)
        for task in express:
            note = note_of(task)
            note.listed = True
            self._accounts.finished(task, note.seconds)
        self._express.add(express)
        for site in off.tried:
            sites.refresh_again(site, now)
        return bool(express)

    def _plan_one(self, task: Task, note: Note, ready: float, plan: Plan, off: _PutOff) -> None:
        """Plans a task if it can start soon, or else puts it off."""
        now, soon = plan.now, plan.now + self._horizon
        place = choose_place(task, note.need, ready, self._sites, plan)
        if place is None and plan.graph.ending:
            self._too_long.add(task)  # the others need not wait with it
        elif place is None:
            off.held.append(task)
        elif (
            place.start - place.moving <= soon
            or self._shares.passes(task.session)
            or overtakes(task, place.site.governor)
            or self._is_stuck(task, place.site, now)
        ):
            self._assign(task, note, place, plan)
        elif ready - place.moving > soon:
            self._accounts.later(task, ready - place.moving - self._horizon)
        elif place.site.has_memory(note.need, now) > now:
            off.lacking.append(task)  # its cpus may do something else until there is memory
            off.short = min(off.short, note.need)
        else:  # its cpus are reserved: later tasks take them into account
            off.held.append(task)
            place.site.book(min(task.cpus, place.site.cpus), place.start, note.seconds)
            off.tried[place.site] = None

    def _is_stuck(self, task: Task, site: Site, now: float) -> bool:
        """Whether only tasks that wait for others have its cpus, perhaps for what it makes."""
        if task.missing or site.start(min(task.cpus, site.cpus), now) <= now + self._horizon:
            return False
        return not any(one.governor.active_cpus for one in self._sites)

    def _assign(self, task: Task, note: Note, place: PossiblePlace, plan: Plan) -> None:
        site, governor = place.site, place.site.governor
        share = self._shares.of(task.session)
        priority = self._accounts.priority(task, note.seconds, share, self._sites.cpus)
        self._shares.last = min(self._shares.last, share.ready)
        plan.assign(task, governor, priority)
        self._accounts.planned(task, note.seconds)
        learned = task.session.learned[task.kind.id]
        if learned.least and not learned.finished:
            self._unproven.add((task,), note.seconds)
        take_site(task, note, place)
        if place.moving:
            for wanted in wanted_inputs(task, plan):
                if governor not in wanted.places:
                    occupy_links(site, self._sites, wanted)
                    data_object = wanted.object
                    if task.missing and data_object is not None and data_object.is_finished:
                        plan.copy(data_object, governor)
        self._list_consumers((task,))

    def _moves(self, task: Task, donor: Governor, taker: Governor, plan: Plan) -> bool:
        """Whether a task that waits at one governor would start earlier at another."""
        sites, now = self._sites, plan.now
        if note_of(task).site is None:
            return True  # it came through the express lane
        sites.refresh(sites[donor], now)
        wanted = wanted_inputs(task, plan)
        note = note_of(task)
        place = place_on(sites[taker], sites, task.cpus, wanted, now, now, note.need)
        if place.start + min(self._horizon, note.seconds) >= sites[donor].last:
            return False
        leave_site(task, note)
        take_site(task, note, place)
        return True

    def _gives(self, plan: Plan, donor: Governor) -> bool:
        """Whether more than two blocks of very short tasks wait there.

        Fewer would finish before they could move, unless a running task lasts unexpectedly long.
        """
        if self._sites[donor].planned:
            return True
        block = done_in_no_time(next(iter(donor.scheduled)), plan.estimates)
        if block == 1 or len(donor.scheduled) > 2 * block:
            return True
        sent = islice(donor.assigned, donor.cpus + 1)
        return any(task.row is TaskRow.RUNNING for task in sent)


def _is_tiny(task: Task, note: Note, plan: Plan) -> bool:
    """Whether it may take the express lane, based on measured durations; corrects the note."""
    sight = look_at(task, plan.estimates)
    if sight.seconds > OFF * note.seconds:  # it was submitted before that was known
        note.seconds = sight.seconds
    return sight.seconds < TINY and sight.passes


def _ready_at(task: Task, now: float) -> float | None:
    """When all inputs will be made; None while any of them has no plan.

    For outputs of a task with very many inputs it is unknown: some of these inputs may have no
    plan, and need the cpus of the tasks that wait for it.
    """
    ready = now
    for data_object in task.inputs[:LOOKED_AT]:
        if not data_object.is_finished:
            producer = data_object.producer
            if producer is None or producer.scheduled is None:
                return None
            if producer.missing and len(producer.inputs) > LOOKED_AT:
                return None
            ready = max(ready, note_of(producer).end)
    return ready


def _bring_to_followers(output: DataObject, plan: Plan) -> None:
    """Copies a finished object to the governors of its planned consumers."""
    for consumer in output.consumers:
        governor = consumer.scheduled
        if governor is None or not consumer.missing or is_exchange(consumer):
            continue
        if output not in governor.objects:
            plan.copy(output, governor)
