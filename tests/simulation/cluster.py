"""A whole cluster in virtual time, and what must be true of it in the end."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from random import Random

from rain.base.address import Source
from rain.base.errors import InvariantError, RefusedError, SessionFailedError
from rain.base.failures import OnFailure
from rain.base.ids import ObjectId, TaskId
from rain.base.wire.answers import Fetched, WaitAnswer
from rain.base.wire.requests import (
    Cancel,
    CloseSession,
    Fetch,
    HandlesGone,
    OpenSession,
    Submit,
    Unkeep,
    WaitFor,
)
from tests.simulation.agenda import START, Agenda
from tests.simulation.client import Client, Pause, Program
from tests.simulation.governor import Governor
from tests.simulation.plan import FAULTS_END, Fault, Kind, Plan
from tests.simulation.server import Server
from tests.simulation.servers import Servers
from tests.simulation.work import Workload

PATIENCE = 600.0
"""Seconds after the last fault in which everything must come to its end."""


class Cluster:
    """One run."""

    def __init__(self, plan: Plan, folder: Path) -> None:
        self.plan = plan
        self.agenda = agenda = Agenda(plan.seed)
        self.servers = Servers(agenda, plan.servers, folder)
        self.governors = [
            Governor(agenda, number, agenda.random.choice([1, 2, 4]), self.servers, self)
            for number in range(1, plan.governors + 1)
        ]
        self.governors[0] = Governor(agenda, 1, 2, self.servers, self)  # every task fits it
        self.clients = [
            Client(agenda, f"client {number}", self.servers, self._program(number))
            for number in range(1, plan.clients + 1)
        ]
        self._finished: set[tuple[TaskId, int]] = set()  # runs
        self._given_up: set[tuple[TaskId, int]] = set()
        self.told: list[str] = []
        self._unreachable: dict[tuple[int, int], float] = {}  # pairs, and until when

    def run(self) -> None:
        """Until all is done; raises what was wrong."""
        try:
            self._run()
        finally:
            self.servers.close()

    def _run(self) -> None:
        agenda = self.agenda
        self.servers.all[0].start()
        later = (self.servers.all[1:], self.governors, self.clients)
        for start in [one.start for kind in later for one in kind]:
            agenda.within(0.0, 1.0, start)
        for fault in self.plan.faults:
            agenda.at(fault.time, partial(self._break, fault))
        due = START + FAULTS_END + PATIENCE
        while not (self._is_over() and agenda.now > START + FAULTS_END):
            if agenda.now > due:
                raise InvariantError(f"the cluster stands still: {self._where()}")
            agenda.step()
        self._check_that_nothing_is_left()

    # What governors meet.

    def governor_at(self, source: Source, reader: Governor) -> Governor | None:
        for one in self.governors:
            if one.is_alive and one.incarnation == source.incarnation:
                pair = tuple(sorted((one.number, reader.number)))
                until = self._unreachable.get((pair[0], pair[1]), 0.0)
                return None if self.agenda.now < until else one
        return None

    def finished(self, task: TaskId, run: int) -> None:
        self._finished.add((task, run))

    def given_up(self, task: TaskId, run: int) -> None:
        self._given_up.add((task, run))

    # What breaks.

    def _break(self, fault: Fault) -> None:
        self.told.append(str(fault))
        governor = self.governors[fault.which % len(self.governors)]
        client = self.clients[fault.which % len(self.clients)]
        match fault.kind:
            case Kind.CUT_GOVERNOR if governor.is_alive:
                governor.cut()
            case Kind.CUT_CLIENT if client.is_alive:
                client.cut()
            case Kind.KILL_GOVERNOR if governor.is_alive:
                governor.die()
            case Kind.KILL_EXECUTOR if governor.is_alive:
                governor.crash_executor(fault.which)
            case Kind.DRAIN if governor.is_alive:
                governor.drain()
            case Kind.PARTITION:
                other = self.governors[fault.which // 7 % len(self.governors)]
                pair = sorted((governor.number, other.number))
                self._unreachable[pair[0], pair[1]] = self.agenda.now + fault.which % 10
            case Kind.FULL_DISK:
                self.servers.disk.is_full = True
            case Kind.CLIENT_VANISHES if client.is_alive and not client.has_ended:
                client.vanish()
            case _:
                self._break_a_server(fault)

    def _break_a_server(self, fault: Fault) -> None:
        servers, seconds = self.servers, fault.which % 13
        leader, standbys = servers.leader, servers.standbys()
        some = servers.all[fault.which % len(servers.all)]
        match fault.kind:
            case Kind.KILL_SERVER if leader is not None:
                leader.die()
            case Kind.STOP_MACHINE if leader is not None:
                servers.stop_machine()
            case Kind.KILL_STANDBY if standbys:
                standbys[0].die()
            case Kind.STOP_SERVER if some.is_alive:
                servers.stand_still(some, seconds, before_it_speaks=bool(fault.which // 13 % 2))
            case Kind.LEASE_AWAY:
                some.store.away_until = self.agenda.now + seconds
            case _:
                pass  # it is broken already

    # What clients do.

    def _program(self, number: int) -> Program:
        random = Random(self.plan.seed * 1000 + number)
        session = yield OpenSession(f"session {number}", "", OnFailure.CONTINUE)
        work = Workload.of(session, random)
        for _ in range(self.plan.parts):
            kept = work.grow(random.choice([1, 4, 8]))
            wanted = tuple(kept) if random.random() < 0.3 else ()
            yield from self._wait(work, Submit(work.draft.take(), wanted), wanted)
            yield Pause(random.choice([0.0, 0.1, 3.0]))
            if kept and random.random() < 0.2:
                target = random.choice(kept)
                work.may_be_cancelled(target)
                yield Cancel(session, (), (target,), False, True, True)
            if len(work.usable) > 3 and random.random() < 0.4:
                dropped = [work.usable.pop(random.randrange(len(work.usable))) for _ in range(2)]
                yield Unkeep(tuple(dropped))
                yield HandlesGone((), tuple(dropped))
        wanted = tuple(work.usable)
        yield from self._wait(work, WaitFor(session, (), wanted, "all"), wanted)
        for target in random.sample(work.usable, len(work.usable)):
            yield from self._fetch(work, target)
        yield CloseSession(session)

    def _wait(
        self, work: Workload, asked: Submit | WaitFor, wanted: tuple[ObjectId, ...]
    ) -> Program:
        """Waits for all of these, which fails if one of them has failed."""
        may_fail = any(one in work.unsure or work.values[one] is None for one in wanted)
        must_fail = any(one not in work.unsure and work.values[one] is None for one in wanted)
        try:
            answer: WaitAnswer | None = yield asked
        except SessionFailedError as error:
            if not may_fail:
                raise InvariantError(f"a wait has failed that cannot fail: {error}") from error
            return
        if must_fail:
            raise InvariantError("a wait has not failed that must fail")
        if answer is not None:
            work.check_delivery(answer)

    def _fetch(self, work: Workload, target: ObjectId) -> Program:
        """Fetches an object until somebody who has it can be reached, and compares it."""
        expected = work.values[target]
        while True:
            try:
                fetched: Fetched = yield Fetch(target)
            except (RefusedError, SessionFailedError) as error:
                if expected is not None and target not in work.unsure:
                    raise InvariantError(f"the object {target} cannot be fetched") from error
                return
            data = fetched.data if not fetched.holder else self._read(fetched.holder, target)
            if data is not None:
                if expected is None and target not in work.unsure:
                    raise InvariantError(f"the object {target} cannot be, and was fetched")
                if expected is not None and bytes(data) != expected:
                    raise InvariantError(f"the object {target} has a wrong value")
                return
            yield Pause(0.5)

    def _read(self, holder: str, target: ObjectId) -> bytes | None:
        source = Source.read(holder)
        for one in self.governors:
            if one.is_alive and one.incarnation == source.incarnation:
                return one.content(target)
        return None

    # The end.

    def leader(self) -> Server:
        if self.servers.leader is None:
            raise InvariantError("no server leads")
        return self.servers.leader

    def _is_over(self) -> bool:
        leader = self.servers.leader
        return (
            leader is not None
            and all(client.has_ended for client in self.clients)
            and not leader.state.graph.sessions
            and all(self._is_empty(governor) for governor in self.governors)
        )

    def _is_empty(self, governor: Governor) -> bool:
        return governor.is_alive and not governor.reactor.state.sessions and not governor.files

    def _check_that_nothing_is_left(self) -> None:
        graph = self.leader().state.graph
        for what in (graph.tasks, graph.objects, graph.sessions):
            if what:
                raise InvariantError(f"something is left on the server: {what}")
        if self.plan.is_lossless:
            finished = Counter(task for task, _ in self._finished - self._given_up)
            again = [task for task, count in finished.items() if count > 1]
            if again:
                raise InvariantError(f"computed again, though nothing was lost: {again}")

    def _where(self) -> str:
        state = self.leader().state
        rows = Counter(task.row.name for task in state.graph.tasks.values())
        waiting = [client.name for client in self.clients if not client.has_ended]
        left = [one.address for one in self.governors if not self._is_empty(one)]
        return (
            f"these wait: {waiting}; tasks of the server: {dict(rows)}; sessions:"
            f" {list(state.graph.sessions)}; not empty: {left}"
        )
