"""A simulated cluster: a graph with random events, without server, governors or time.

It is used to test the contract of schedulers. All events are drawn from one seeded generator and
applied with the same graph functions that the server uses.
"""

from __future__ import annotations

from math import inf
from random import Random

from attrs import Factory, define, field

from rain.base.constraints import Constraints
from rain.base.copies import CopyMove
from rain.base.ids import ClientId, GovernorId, KindId, ObjectId, TaskId, pack
from rain.base.kinds import ObjectKind, TaskKind
from rain.base.near import Near
from rain.base.resources import Resources
from rain.base.runs import RunCause
from rain.base.states import TaskRow
from rain.base.wire.submission import Submission
from rain.graph import (
    DataObject,
    Governor,
    Graph,
    Session,
    Task,
    claims,
    loss,
    moving,
    planning,
    progress,
)
from rain.graph.copy import move_copy, tell_of_copies
from rain.graph.growth import grow
from rain.graph.release import clear, release, take_apart
from rain.graph.rules import suits
from rain.graph.run import Ending
from rain.scheduler.api import News, Plan
from rain.scheduler.estimates import Estimates

LARGEST = 12  # tasks of one submission
ENDS = (1.0, 5.0, 60.0)  # seconds until a governor must be gone that must
SIZES = (0, 100, 20_000, 5_000_000)
WISHES = (
    *(None,) * 8,
    Constraints(pin=("host-1", "host-2")),
    Constraints(spread="wide"),
    Constraints(apart="alone"),
)
NEAR = (*((),) * 6, (Near(("host-1", "gpus"), 5_000_000),), (Near(("nowhere",), 100),))


@define(eq=False)
class Tabletop:
    """The graph, the pending news for the scheduler, and its decisions."""

    random: Random
    graph: Graph = Factory(Graph)
    estimates: Estimates = Factory(Estimates)
    now: float = 1000.0
    news: News = Factory(News)
    assigned: list[tuple[int, int]] = Factory(list)  # all assignments: task and governor
    _numbers: dict[Session, int] = Factory(dict)  # the last id that was used
    _joined: int = 0
    _sessions: list[Session] = field(init=False, factory=list)

    def __attrs_post_init__(self) -> None:
        client = self.graph.add_client(ClientId(1))
        self._sessions += [self.graph.add_session(client, "", "") for _ in range(3)]
        self.join()
        self.join()

    # Events.

    def something_happens(self) -> None:
        """Makes one random event, or none."""
        draw = self.random.random()
        if draw < 0.15:
            self.submit()
        elif draw < 0.18:
            self.join()
        elif draw < 0.20 and len(self.graph.governors) > 1:
            self.leave(self.random.choice(list(self.graph.governors.values())))
        elif draw < 0.202 and len(self._sessions) > 1:
            self.close(self._sessions.pop())
        self.passes(self.random.choice((0.01, 0.1, 1.0, 5.0)))

    def passes(self, seconds: float) -> None:
        """Time passes, also for governors that must be gone at some time."""
        self.now += seconds
        for governor in self.graph.ending:
            governor.left = max(governor.ends_at - self.now, 0.0)

    def settle(self) -> None:
        """Stops random events and makes sure that every kind of task fits some governor."""
        while not self._all_suit():
            self.join()

    def join(self, time_left: float | None = None) -> Governor:
        """A governor of a random size joins; every third one has gpus, every fifth one an end."""
        self._joined += 1
        number = self._joined
        amounts = {"cpus": self.random.choice((1, 2, 4)), "gpus": 2 * (number % 3 == 0)}
        if number % 4 == 1:
            amounts["cpus"] = 4
        if time_left is None:
            time_left = self.random.choice(ENDS) if number % 5 == 3 else inf
        governor = self.graph.add_governor(
            GovernorId(number), f"host-{number % 5}:1", Resources.of(amounts), self.now, time_left
        )
        self.news.joined.append(governor)
        return governor

    def leave(self, governor: Governor) -> None:
        """A governor is lost with its tasks and data."""
        del self.graph.governors[governor.id]
        self.graph.ending.pop(governor, None)
        losses = loss.lose_governor(governor, self.now)
        self.news.left.append(governor)
        self.news.unplanned.update(losses.unplanned)

    def close(self, session: Session) -> None:
        """A session ends with its tasks and data."""
        clear(self.graph, session)
        take_apart(self.graph)
        del self.graph.sessions[session.id]
        del session.client.sessions[session.id]
        self.news.cleared.append(session)

    def submit_alike(self, count: int, priority: int, hint: float) -> list[Task]:
        """Submits tasks of one kind without inputs to the first session."""
        session = self._sessions[0]
        submission = Submission(session.id)
        kind, blob = KindId(self._next_id(session)), self._kind(session, submission)
        submission.task_kinds.append(
            TaskKind(
                kind, "py/", f"p{priority}", outputs=(blob,), duration_hint=hint, priority=priority
            )
        )
        columns = submission.tasks
        for _ in range(count):
            columns.ids.append(TaskId(self._next_id(session)))
            columns.outputs.append(ObjectId(self._next_id(session)))
        columns.kinds += [kind] * count
        columns.configs += [b""] * count
        columns.input_counts += [0] * count
        submitted = grow(self.graph, session, session.owner, submission)
        self.news.submitted += submitted
        return submitted

    def submit(self) -> None:
        """Submits tasks that read each other's outputs and kept outputs of earlier submissions."""
        session = self.random.choice(self._sessions)
        submission = Submission(session.id)
        blob = self._kind(session, submission)
        readable = [found.id for found in session.objects.values() if found.kept]
        for _ in range(self.random.randint(1, LARGEST)):
            count = self.random.randint(0, min(3, len(readable)))
            readable.append(
                self._task(session, submission, blob, self.random.sample(readable, count))
            )
        self.news.submitted += grow(self.graph, session, session.owner, submission)

    def _next_id(self, session: Session) -> int:
        number = self._numbers[session] = self._numbers.get(session, 100) + 1
        return pack(session.id, number)

    def _kind(self, session: Session, submission: Submission) -> KindId:
        blob = KindId(self._next_id(session))
        submission.object_kinds.append(ObjectKind(blob))
        return blob

    def _task(
        self, session: Session, submission: Submission, blob: KindId, inputs: list[ObjectId]
    ) -> ObjectId:
        random, kind = self.random, KindId(self._next_id(session))
        needs = {"cpus": random.choice((0, 1, 1, 1, 2, 4)), "gpus": int(random.random() < 0.1)}
        wishes = random.choice(WISHES)
        hint, near = random.choice((0.0, 0.01, 3.0)), NEAR[kind % len(NEAR)]
        needed, name = Resources.of(needs), f"f{hint}"
        submission.task_kinds.append(
            TaskKind(kind, "py/", name, needed, (), (blob,), "", hint, wishes, near=near)
        )
        made, columns = ObjectId(self._next_id(session)), submission.tasks
        columns.ids.append(TaskId(self._next_id(session)))
        columns.kinds.append(kind)
        columns.configs.append(b"")
        columns.input_counts.append(len(inputs))
        columns.inputs += inputs
        columns.outputs.append(made)
        if random.random() < 0.5:
            submission.kept.append(made)
        return made

    # The decisions of the scheduler and their effects.

    def take_news(self) -> News:
        """Returns the news since the last call."""
        news, self.news = self.news, News()
        return news

    def obey(self, plan: Plan) -> None:
        """Sends planned tasks to governors and delivers ordered copies.

        Governors answer at once for what they are asked to return, and have begun some of it.
        """
        for task in [task for one in self.graph.governors.values() for task in one.asked]:
            if self.random.random() < 0.2:
                moving.stay(task)
                progress.start(task, self.now)
            elif planning.returned(task, Ending(self.now, RunCause.TAKEN_BACK)) is None:
                self.news.unplanned[task] = None
        for data_object, governor in plan.copies:
            if data_object in governor.objects:
                self._bring(data_object, governor)
        for governor in self.graph.governors.values():
            while len(governor.queue):
                task = governor.queue.pop()
                planning.assign(task, self.now)
                self.assigned.append((task.id, governor.number))
                for data_object in task.inputs:
                    self._bring(data_object, governor)

    def start_one(self) -> Task | None:
        """The first governor with a task in its queue runs the best of them to its end."""
        for governor in self.graph.governors.values():
            if len(governor.queue):
                task = governor.queue.pop()
                planning.assign(task, self.now)
                self._finish(task)
                return task
        return None

    def _bring(self, data_object: DataObject, governor: Governor) -> None:
        copy = governor.objects.get(data_object)
        if copy is None or not copy.is_known:
            tell_of_copies((data_object,), governor)
            if not governor.objects[data_object].is_held:
                move_copy(data_object, governor, CopyMove.ARRIVE)
            self.news.located.append((data_object, governor))

    def work(self, count: int) -> None:
        """Ends `count` tasks one after the other; some of them report their start."""
        for _ in range(count):
            running = [task for found in self.graph.governors.values() for task in found.assigned]
            if not running:
                return
            task = self.random.choice(running)
            if task.row is TaskRow.ASSIGNED and self.random.random() < 0.5:
                progress.start(task, self.now)
            else:
                self._finish(task)

    def _finish(self, task: Task) -> None:
        governor, seconds = task.assigned, self.random.random()
        assert governor is not None  # it is running
        progress.finish({task: seconds}, governor)
        size = self.random.choice(SIZES)
        learned = task.session.learned[task.kind.id]
        self.estimates.finished(learned, [seconds], [size])
        self.news.finished.append(task)
        made = [output for output in task.outputs if not output.is_finished]
        self.news.ready += progress.finish_objects(made, [size] * len(made), governor)
        release(self.graph, [*claims.finished_reading((task,)), *task.outputs])

    # Status.

    def unfinished(self) -> list[Task]:
        """All tasks that are not done."""
        return [task for task in self.graph.tasks.values() if not task.is_done]

    def _all_suit(self) -> bool:
        governors = self.graph.governors.values()
        return all(
            any(suits(task, governor) for governor in governors) for task in self.unfinished()
        )
