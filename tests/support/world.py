"""A small world around a reactor: governors and clients that do just what a test says.

No clock, no sockets: time is a number that the test moves. Every effect goes through the encoding
of the wire, and the consistency checker runs after every turn.
"""

from __future__ import annotations

from typing import TypeVar

from attrs import Factory, define

from rain.base.ids import ClientId, GovernorId, ObjectId, RequestId, SessionId, TaskId
from rain.base.resources import Resources
from rain.base.wire import Orders, TaskFailure, Update
from rain.graph import DataObject, Governor, Task
from rain.rpc.codec import through_the_wire
from rain.scheduler.api import Scheduler
from rain.scheduler.rain import RainScheduler
from rain.server.messages import (
    AnswerDone,
    AnswerFetch,
    AnswerSession,
    AnswerStates,
    AnswerWait,
    ClientEvent,
    ClientJoined,
    ClientLeft,
    DismissGovernor,
    Effect,
    FetchAsked,
    GovernorEvent,
    GovernorJoined,
    GovernorLeft,
    GovernorUpdated,
    OrderGovernor,
    Refuse,
    RequestAbandoned,
    SessionClosed,
    SessionOpened,
    StatesAsked,
    Submitted,
    TurnInput,
    Unkept,
    WaitAsked,
)
from rain.server.reactor import Reactor
from rain.server.state import ReactorSettings, State
from tests.support.submissions import Draft

A = TypeVar("A")
Answer = AnswerDone | AnswerSession | AnswerWait | AnswerFetch | AnswerStates | Refuse


@define(eq=False)
class World:
    """The reactor and everybody around it."""

    reactor: Reactor
    now: float = 1000.0
    turns: list[TurnInput] = Factory(list)  # everything that was fed in, to be replayed
    effects: list[list[Effect]] = Factory(list)  # and everything that came out
    answers: dict[RequestId, Answer] = Factory(dict)
    governors: list[FakeGovernor] = Factory(list)
    clients: list[FakeClient] = Factory(list)
    dismissed: dict[GovernorId, str] = Factory(dict)
    last_request: int = 0
    last_governor: int = 0

    @property
    def state(self) -> State:
        return self.reactor.state

    def turn(self, *events: GovernorEvent | ClientEvent, after: float = 1.0) -> list[Effect]:
        """One turn, a second after the last one so that the scheduler is always due."""
        self.now += after
        given = TurnInput(self.now)
        for event in events:
            if isinstance(event, GovernorEvent):
                given.from_governors.append(event)
            else:
                given.from_clients.append(event)
        return self.run(given)

    def run(self, given: TurnInput) -> list[Effect]:
        self.turns.append(given)
        output = self.reactor.turn(given)
        self.effects.append(output.effects)
        for effect in output.effects:
            self._carry(effect)
        return output.effects

    def _carry(self, effect: Effect) -> None:
        match effect:
            case OrderGovernor(governor_id, orders):
                self.governor_of(governor_id).take(_encoded(orders))
            case DismissGovernor(governor_id, reason):
                self.dismissed[governor_id] = reason
                self.governors.remove(self.governor_of(governor_id))
            case AnswerWait(request, answer):
                self.answer(AnswerWait(request, _encoded(answer)))
            case _:
                self.answer(effect)

    def answer(self, effect: Answer) -> None:
        assert effect.request not in self.answers, f"{effect} is the second answer"
        self.answers[effect.request] = effect

    def governor_of(self, governor_id: GovernorId) -> FakeGovernor:
        return next(governor for governor in self.governors if governor.id == governor_id)

    def governor(self, cpus: int = 1, **others: int) -> FakeGovernor:
        """A new governor joins."""
        self.last_governor += 1
        fake = FakeGovernor(
            self, GovernorId(self.last_governor), f"127.0.0.1:{9000 + self.last_governor}"
        )
        self.governors.append(fake)
        resources = Resources.of({"cpus": cpus, **others})
        self.turn(GovernorJoined(fake.id, fake.address, resources))
        return fake

    def client(self) -> FakeClient:
        """A new client joins."""
        fake = FakeClient(self, ClientId(len(self.clients) + 1))
        self.clients.append(fake)
        self.turn(ClientJoined(fake.id))
        return fake

    def request(self) -> RequestId:
        self.last_request += 1
        return RequestId(self.last_request)

    def task(self, task_id: TaskId) -> Task:
        return self.state.graph.tasks[task_id]

    def object(self, object_id: ObjectId) -> DataObject:
        return self.state.graph.objects[object_id]


def new_world(scheduler: Scheduler | None = None, settings: ReactorSettings | None = None) -> World:
    """An empty world; the checker is always on."""
    state = State(settings or ReactorSettings(debug=True, governor_silence=1e9))
    return World(Reactor(scheduler or RainScheduler(), state))


@define(eq=False)
class FakeGovernor:
    """Remembers what it was told and reports what the test wants."""

    world: World
    id: GovernorId
    address: str
    tasks: dict[TaskId, int] = Factory(dict)  # with the attempt
    inputs: dict[TaskId, list[ObjectId]] = Factory(dict)
    outputs: dict[TaskId, list[ObjectId]] = Factory(dict)
    held: dict[ObjectId, None] = Factory(dict)  # objects that it shall hold, come or coming
    coming: dict[ObjectId, str] = Factory(dict)  # those that it must fetch, and from where
    told: list[Orders] = Factory(list)
    kinds: dict[int, int] = Factory(dict)  # task kinds that it was told: number of outputs

    @property
    def node(self) -> Governor:
        return self.world.state.graph.governors[self.id]

    def take(self, orders: Orders) -> None:
        """Does with orders what a real governor would do."""
        self.told.append(orders)
        for session in orders.forget_sessions:
            self._forget(session)
        for task_id, attempt in zip(orders.stop_ids, orders.stop_attempts, strict=True):
            if self.tasks.get(task_id) == attempt:  # else it has ended, and the news is under way
                del self.tasks[task_id], self.inputs[task_id], self.outputs[task_id]
        for object_id in orders.drops:
            self.held.pop(object_id, None)
            self.coming.pop(object_id, None)
        for kind in orders.task_kinds:
            assert kind.id not in self.kinds, "a kind is told once"
            self.kinds[kind.id] = len(kind.outputs)
        for object_id, source in zip(orders.objects.ids, orders.objects.sources, strict=True):
            if source and (object_id in self.coming or object_id not in self.held):
                self.coming[object_id] = source
            self.held[object_id] = None
        self._take_tasks(orders)
        for task_id, inputs in self.inputs.items():
            assert all(object_id in self.held for object_id in inputs), f"{task_id} lost an input"

    def _forget(self, session: SessionId) -> None:
        mappings = (self.tasks, self.inputs, self.outputs, self.held, self.coming, self.kinds)
        for mapping in mappings:
            for key in [key for key in mapping if key >> 32 == session]:
                del mapping[key]

    def _take_tasks(self, orders: Orders) -> None:
        inputs = iter(orders.tasks.inputs)
        outputs = iter(orders.tasks.outputs)
        columns = orders.tasks
        for task_id, attempt, kind_id, count in zip(
            columns.ids, columns.attempts, columns.kinds, columns.input_counts, strict=True
        ):
            assert task_id not in self.tasks, "a governor runs a task once"
            self.tasks[task_id] = attempt
            self.inputs[task_id] = [next(inputs) for _ in range(count)]
            self.outputs[task_id] = [next(outputs) for _ in range(self.kinds[kind_id])]

    def send(self, update: Update) -> list[Effect]:
        return self.world.turn(GovernorUpdated(self.id, _encoded(update)))

    def start(self, *tasks: TaskId) -> list[Effect]:
        return self.send(
            Update(started_ids=list(tasks), started_attempts=[self.tasks[task] for task in tasks])
        )

    def finished(self, *tasks: TaskId, size: int = 100_000, data: bytes | None = None) -> Update:
        """The update that these tasks are finished; their outputs are held here from now on."""
        update = Update()
        for task in tasks:
            update.finished.ids.append(task)
            update.finished.attempts.append(self.tasks.pop(task))
            update.finished.durations.append(0.5)
            del self.inputs[task]
            outputs = self.outputs.pop(task)
            update.finished.output_counts.append(len(outputs))
            for object_id in outputs:
                self.held[object_id] = None
                update.finished.sizes.append(size if data is None else len(data))
                update.finished.data.append(data or b"")
        return update

    def finish(
        self, *tasks: TaskId, size: int = 100_000, data: bytes | None = None
    ) -> list[Effect]:
        return self.send(self.finished(*tasks, size=size, data=data))

    def fail(self, task: TaskId, message: str = "it broke") -> list[Effect]:
        return self.send(self.failed(task, message))

    def failed(self, task: TaskId, message: str = "it broke") -> Update:
        """The update that a task has failed."""
        attempt = self.tasks.pop(task)
        del self.inputs[task], self.outputs[task]
        return Update(failed=[TaskFailure(task, attempt, message)])

    def located(self, *objects: ObjectId) -> Update:
        """The update that these objects were fetched."""
        for object_id in objects:
            del self.coming[object_id]
        return Update(located=list(objects))

    def locate(self, *objects: ObjectId) -> list[Effect]:
        return self.send(self.located(*objects))

    def runnable(self) -> list[TaskId]:
        """The tasks whose inputs are all there."""
        return [
            task_id
            for task_id, inputs in self.inputs.items()
            if not any(object_id in self.coming for object_id in inputs)
        ]

    def leave(self) -> list[Effect]:
        self.world.governors.remove(self)
        return self.world.turn(GovernorLeft(self.id, "killed by the test"))


@define(eq=False)
class FakeClient:
    """Asks, and looks up the answers."""

    world: World
    id: ClientId

    def session(self, name: str = "test") -> Draft:
        """Opens a session and starts its first submission."""
        request = self.world.request()
        self.world.turn(SessionOpened(self.id, request, name, ""))
        answer = self.world.answers[request]
        assert isinstance(answer, AnswerSession)
        return Draft(answer.session)

    def submit(self, draft: Draft) -> Answer:
        return self._ask(Submitted(self.id, self.world.request(), _encoded(draft.take())))

    def close(self, session: SessionId) -> Answer:
        return self._ask(SessionClosed(self.id, self.world.request(), session))

    def unkeep(self, *objects: ObjectId) -> Answer:
        return self._ask(Unkept(self.id, self.world.request(), objects))

    def fetch(self, object_id: ObjectId) -> RequestId:
        request = self.world.request()
        self.world.turn(FetchAsked(self.id, request, object_id))
        return request

    def states(self, *tasks: TaskId, objects: tuple[ObjectId, ...] = ()) -> Answer:
        return self._ask(StatesAsked(self.id, self.world.request(), tasks, objects))

    def wait(
        self,
        session: SessionId,
        *tasks: TaskId,
        objects: tuple[ObjectId, ...] = (),
        mode: str = "all",
    ) -> RequestId:
        request = self.world.request()
        self.world.turn(WaitAsked(self.id, request, session, tasks, objects, mode))
        return request

    def abandon(self, request: RequestId) -> None:
        self.world.turn(RequestAbandoned(self.id, request))

    def leave(self) -> None:
        self.world.clients.remove(self)
        self.world.turn(ClientLeft(self.id, "the test is over"))

    def _ask(self, event: Submitted | SessionClosed | Unkept | StatesAsked) -> Answer:
        self.world.turn(event)
        return self.world.answers[event.request]


def _encoded(value: A) -> A:
    """The value as it arrives at the other end."""
    arrived = through_the_wire(value)
    assert arrived == value
    return arrived
