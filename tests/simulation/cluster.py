"""A whole cluster in virtual time, and what must be true of it in the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from rain.base.address import Source
from rain.base.errors import InvariantError
from rain.base.ids import ObjectId, TaskId
from tests.simulation.agenda import START, Agenda
from tests.simulation.client import Client
from tests.simulation.governor import Governor
from tests.simulation.plan import FAULTS_END, Fault, Kind, Plan
from tests.simulation.programs import ordinary, visit
from tests.simulation.server import Server
from tests.simulation.servers import Servers

VISITED = 0.3
"""How probable it is that a durable session takes the place of a client with its own."""

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
        self.clients: list[Client] = []
        self._finished: set[tuple[TaskId, int]] = set()  # runs
        self._given_up: set[tuple[TaskId, int]] = set()
        self.told: list[str] = []
        self._places: dict[TaskId, tuple[str, int]] = {}  # of tasks of durable sessions, by name
        self._shared: set[str] = set()  # names that several clients open at a time
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
        starts = [one.start for one in self.servers.all[1:]] + [one.start for one in self.governors]
        for start in starts:
            agenda.within(0.0, 1.0, start)
        for number in range(1, self.plan.clients + 1):
            self._begin_to_work(number)
        for fault in self.plan.faults:
            agenda.at(fault.time, partial(self._break, fault))
        due = START + FAULTS_END + PATIENCE
        while not (self._is_over() and agenda.now > START + FAULTS_END):
            if agenda.now > due:
                raise InvariantError(f"the cluster stands still: {self._where()}")
            agenda.step()
        self._check_that_nothing_is_left()

    # What governors meet.

    def governor_at(self, source: Source, reader: Governor | None) -> Governor | None:
        for one in self.governors:
            if one.is_alive and one.incarnation == source.incarnation:
                if reader is None:
                    return one
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
        client = self.clients[fault.which % len(self.clients)] if self.clients else None
        match fault.kind:
            case Kind.CUT_GOVERNOR if governor.is_alive:
                governor.cut()
            case Kind.CUT_CLIENT if client is not None and client.is_alive:
                client.cut()
            case Kind.KILL_GOVERNOR if governor.is_alive:
                governor.die()
            case Kind.KILL_EXECUTOR if governor.is_alive:
                governor.executors.crash(fault.which)
            case Kind.DRAIN if governor.is_alive:
                governor.drain()
            case Kind.PARTITION:
                other = self.governors[fault.which // 7 % len(self.governors)]
                pair = sorted((governor.number, other.number))
                self._unreachable[pair[0], pair[1]] = self.agenda.now + fault.which % 10
            case Kind.FULL_DISK:
                self.servers.disk.is_full = True
            case Kind.CLIENT_VANISHES if client is not None and not client.has_ended:
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

    def _begin_to_work(self, number: int) -> None:
        agenda, plan = self.agenda, self.plan
        if agenda.random.random() < VISITED:
            agenda.within(0.0, 1.0, partial(self._come, number, agenda.random.choice([0, 1, 2])))
            if agenda.random.random() < 0.3:
                self._shared.add(f"durable {number}")
                agenda.within(0.0, 10.0, partial(self._come, number, 0))
            return
        program = ordinary(f"session {number}", plan.seed * 1000 + number, plan.parts, self)
        client = Client(agenda, f"client {number}", self.servers, program)
        self.clients.append(client)
        agenda.within(0.0, 1.0, client.start)

    def _come(self, number: int, leaving: int) -> None:
        """A client opens a durable session by its name; when it has gone another one comes, until
        one has not left early."""
        name, seed = f"durable {number}", self.plan.seed * 1000 + number
        program = visit(name, seed, self.plan.parts, self, leaves=leaving > 0)
        visitor = Client(self.agenda, f"{name}, client {len(self.clients)}", self.servers, program)
        self.clients.append(visitor)
        visitor.start()
        self._look_whether_gone(visitor, number, leaving)

    def _look_whether_gone(self, visitor: Client, number: int, leaving: int) -> None:
        if not visitor.has_ended:
            again = partial(self._look_whether_gone, visitor, number, leaving)
            self.agenda.within(0.2, 2.0, again)
        elif leaving or visitor.has_vanished:
            self._come(number, max(leaving - 1, 0))

    def submitted(self, name: str, tasks: Sequence[TaskId]) -> None:
        self._places.update((task, (name, place)) for place, task in enumerate(tasks))

    def read(self, holder: str, target: ObjectId) -> bytes | None:
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
            and not leader.state.durable.by_name
            and all(self._is_empty(governor) for governor in self.governors)
        )

    def _is_empty(self, governor: Governor) -> bool:
        return governor.is_alive and not governor.reactor.state.sessions and not governor.files

    def _check_that_nothing_is_left(self) -> None:
        state = self.leader().state
        graph = state.graph
        for what in (
            graph.tasks,
            graph.objects,
            graph.sessions,
            state.durable.by_name,
            state.nested.of_runs,
        ):
            if what:
                raise InvariantError(f"something is left on the server: {what}")
        if self.plan.is_lossless:
            finished = Counter(self._work_of(task) for task, _ in self._finished - self._given_up)
            again = [task for task, count in finished.items() if count > 1]
            if again:
                raise InvariantError(f"computed again, though nothing was lost: {again}")

    def _work_of(self, task: TaskId) -> object:
        """What a task is: in a durable session, others may be the same."""
        place = self._places.get(task)
        return task if place is None or place[0] in self._shared else place

    def _where(self) -> str:
        state = self.leader().state
        rows = Counter(task.row.name for task in state.graph.tasks.values())
        waiting = [client.name for client in self.clients if not client.has_ended]
        left = [one.address for one in self.governors if not self._is_empty(one)]
        return (
            f"these wait: {waiting}; tasks of the server: {dict(rows)}; sessions:"
            f" {list(state.graph.sessions)}; not empty: {left}"
        )
