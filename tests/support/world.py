"""A small world around a reactor: governors and clients that do just what a test says.

No clock, no sockets: time is a number that the test moves. Every effect goes through the encoding
of the wire, and the consistency checker runs after every turn.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from attrs import Factory, define

from rain.base.ids import ClientId, GovernorId, ObjectId, RequestId, TaskId
from rain.base.resources import Resources
from rain.base.wire.answers import Fetched, WaitAnswer
from rain.base.wire.update import Update
from rain.graph import DataObject, Task
from rain.scheduler.api import Scheduler
from rain.scheduler.rain import RainScheduler
from rain.server.core.messages import (
    Answered,
    AnyAnswer,
    ClientEvent,
    ClientGivenUp,
    ClientJoined,
    DiscardConstants,
    DismissGovernor,
    Effect,
    GovernorDrains,
    GovernorEvent,
    GovernorJoined,
    GovernorRests,
    GovernorUpdated,
    Granted,
    Notice,
    OrderGovernor,
    Refuse,
    ReleaseGovernor,
    SchedulerFailed,
    TasksOverlooked,
    TurnInput,
)
from rain.server.core.reactor import Reactor, TurnOutput
from rain.server.core.reactor_settings import ReactorSettings
from rain.server.core.state import State
from rain.server.core.succession import Succession
from rain.server.journal.idle import decided_nothing, is_idle
from rain.server.journal.records import encode_came, encode_turn
from tests.support.encoding import encoded
from tests.support.fake_client import FakeClient
from tests.support.fake_governor import FakeGovernor

CLUSTER = b"a cluster of one"


@define(eq=False)
class World:
    """The reactor and everybody around it."""

    reactor: Reactor
    now: float = 1000.0
    turns: list[TurnInput] = Factory(list)  # everything that was fed in, to be replayed
    effects: list[list[Effect]] = Factory(list)  # and everything that came out
    outputs: list[TurnOutput] = Factory(list)  # with what the turns have decided
    journal: list[bytes | None] = Factory(list)  # their records; None of a turn that is left out
    written: int = 0  # turns that are not left out
    returned: list[int] = Factory(list)  # before which turns the server has come back
    answers: dict[RequestId, AnyAnswer] = Factory(dict)
    governors: list[FakeGovernor] = Factory(list)
    clients: list[FakeClient] = Factory(list)
    dismissed: dict[GovernorId, str] = Factory(dict)
    drains: list[GovernorDrains] = Factory(list)
    released: list[FakeGovernor] = Factory(list)  # those that have drained
    notices: list[Notice] = Factory(list)
    rests: list[GovernorRests] = Factory(list)
    scheduler_failures: list[SchedulerFailed] = Factory(list)
    overlooked: list[TasksOverlooked] = Factory(list)
    given_up: list[ClientGivenUp] = Factory(list)
    discarded: list[ObjectId] = Factory(list)  # constants whose files are not wanted
    interrupt_after: int | None = None  # the scheduler of the next turn, after this number of steps
    last_request: int = 0
    last_governor: int = 0
    last_client: int = 0

    @property
    def state(self) -> State:
        return self.reactor.state

    def turn(self, *events: GovernorEvent | ClientEvent, after: float = 1.0) -> list[Effect]:
        """One turn, a second after the last one so that the scheduler is always due.

        What the scheduler overlooks is not among the effects: most tests plan by themselves, later.
        """
        self.now += after
        given = TurnInput(self.now, interrupted_after=self.interrupt_after)
        self.interrupt_after = None
        for event in events:
            if isinstance(event, GovernorEvent):
                given.from_governors.append(event)
            else:
                given.from_clients.append(event)
        return [one for one in self.run(given) if not isinstance(one, TasksOverlooked)]

    def run(self, given: TurnInput) -> list[Effect]:
        self.turns.append(given)
        quiet = all(is_sign_of_life(event) for event in given.from_governors)
        idle = quiet and not given.from_clients and is_idle(self.state, given.now)
        came = encode_came(self.written + 1, given)
        output = self.reactor.turn(given)
        idle = idle and decided_nothing(output)
        self.journal.append(None if idle else encode_turn(came, output))
        self.written += not idle
        given.interrupted_after = output.interrupted_after  # it may have made fewer steps than that
        self.effects.append(output.effects)
        self.outputs.append(output)
        for effect in output.effects:
            self._carry(effect)
        return output.effects

    def _carry(self, effect: Effect) -> None:
        match effect:
            case OrderGovernor(governor_id, orders):
                self.governor_of(governor_id).take(encoded(orders))
            case DismissGovernor(governor_id, reason):
                self.dismissed[governor_id] = reason
                self.governors.remove(self.governor_of(governor_id))
            case Answered(request, WaitAnswer() | Fetched() as answer):
                self.answer(Answered(request, encoded(answer)))
            case Answered() | Granted():
                self.answer(effect)
            case Refuse(request, reason):
                self.answer(Refuse(request, encoded(reason)))
            case DiscardConstants(objects):
                self.discarded += objects
            case ReleaseGovernor(governor_id):
                self.released.append(self.governor_of(governor_id))
                self.governors.remove(self.released[-1])
            case _:
                self._hear(effect)

    def _hear(
        self,
        effect: AnyAnswer
        | Notice
        | GovernorDrains
        | GovernorRests
        | SchedulerFailed
        | TasksOverlooked
        | ClientGivenUp,
    ) -> None:
        """What is for clients, or only for people."""
        match effect:
            case Notice():
                self.notices.append(effect)
            case ClientGivenUp():
                self.given_up.append(effect)
            case GovernorDrains():
                self.drains.append(effect)
            case GovernorRests():
                self.rests.append(effect)
            case SchedulerFailed():
                self.scheduler_failures.append(effect)
            case TasksOverlooked():
                self.overlooked.append(effect)
            case _:
                self.answer(effect)

    def answer(self, effect: AnyAnswer) -> None:
        assert effect.request not in self.answers, f"{effect} is the second answer"
        self.answers[effect.request] = effect

    def governor_of(self, governor_id: GovernorId) -> FakeGovernor:
        return next(governor for governor in self.governors if governor.id == governor_id)

    def governor(
        self, cpus: int = 1, host: str = "127.0.0.1", time_left: float = inf, **others: int
    ) -> FakeGovernor:
        """A new governor joins."""
        self.last_governor += 1
        fake = FakeGovernor(
            self, GovernorId(self.last_governor), f"{host}:{9000 + self.last_governor}"
        )
        self.governors.append(fake)
        resources = Resources.of({"cpus": cpus, **others})
        self.turn(GovernorJoined(fake.id, fake.address, resources, time_left))
        return fake

    def client(self, user: str = "") -> FakeClient:
        """A new client of a user joins."""
        self.last_client += 1
        fake = FakeClient(self, ClientId(self.last_client))
        self.clients.append(fake)
        self.turn(ClientJoined(fake.id, user=user))
        return fake

    def request(self) -> RequestId:
        self.last_request += 1
        return RequestId(self.last_request)

    def task(self, task_id: TaskId) -> Task:
        return self.state.graph.tasks[task_id]

    def object(self, object_id: ObjectId) -> DataObject:
        return self.state.graph.objects[object_id]


def is_sign_of_life(event: GovernorEvent) -> bool:
    return isinstance(event, GovernorUpdated) and event.update == Update()


def new_world(
    make: Callable[[], Scheduler] = RainScheduler, settings: ReactorSettings | None = None
) -> World:
    """An empty world; unless told otherwise the checker is on, and drops wait for nothing."""
    settings = settings or ReactorSettings(
        debug=True, governor_silence=1e9, much_wait=0.0, little_wait=0.0
    )
    return World(Reactor(make, State(settings, succession=Succession(CLUSTER)), notes_plans=True))
