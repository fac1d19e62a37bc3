"""What the tasks of the simulation compute, and what must come out: a plain evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from random import Random

import msgpack
from attrs import Factory, astuple, define, evolve, frozen

from rain.base.attempts import Attempts
from rain.base.errors import InvariantError
from rain.base.exchange import EXCHANGE
from rain.base.ids import ObjectId, SessionId, TaskId
from rain.base.wire.answers import WaitAnswer
from rain.stream.parts import in_memory, laid_out, place_of
from tests.support.submissions import Draft

SMALL, LARGE = 32, 100_000
"""Bytes that outputs have by what they say; a large one is a file."""

SLOW = 20.0
"""Seconds that a task takes longer where it is slow."""

GENERATIONS = 1000
"""Numbers above are of children: these have none."""

MANY_CRASHES = Attempts(crash_tries=100_000)
"""No task of the simulation fails because of what happens around it."""

Value = bytes | None
"""None of what cannot be made, because its task or one before it has failed."""


@frozen
class Job:
    """The config of a task."""

    number: int
    seconds: float
    large: bool
    fails: bool
    slow_on: int = 0  # the number of a governor on which it takes `SLOW` seconds longer
    parts: int = 0  # each of its outputs has as many parts
    part: int = -1  # it reads this part of all that the list names which is its first input
    children: int = 0  # tasks that it submits and waits for

    def pack(self) -> bytes:
        packed: bytes = msgpack.packb(astuple(self))
        return packed

    @staticmethod
    def unpack(config: bytes) -> Job:
        return Job(*msgpack.unpackb(config))


def compute(job: Job, inputs: Sequence[bytes], count: int) -> list[bytes]:
    """The outputs of a task that does not fail, of what it reads and what its children give."""
    digest = blake2b(job.pack(), digest_size=SMALL - 1)
    for one in inputs:
        digest.update(one)
    made = [digest.digest() + bytes([place]) for place in range(count)]
    return [split(one, job.parts) for one in made] if job.parts else made


def split(value: bytes, parts: int) -> bytes:
    """A partitioned object, as the real ones are laid out."""
    return b"".join(laid_out([[value, bytes([part])] for part in range(parts)]))


def part_of(content: bytes, part: int) -> bytes:
    offset, length = place_of(in_memory(content), part)
    return content[offset : offset + length]


@frozen
class Child:
    """A task that another one submits."""

    job: Job
    reads: int | None  # the place of another child


def children_of(job: Job) -> list[Child]:
    """They follow from their parent, and may have children of their own."""
    random = Random(job.pack())
    return [
        Child(
            Job(
                1000 * (job.number + 1) + place,
                random.choice([0.0, 0.05, 1.0]),
                random.random() < 0.3,
                fails=False,
                children=0 if job.number > GENERATIONS else random.choice([0, 0, 0, 2]),
            ),
            random.choice([None, place - 1]) if place else None,
        )
        for place in range(job.children)
    ]


def values_of_children(job: Job) -> list[bytes]:
    """What its children give, without any cluster."""
    values: list[bytes] = []
    for child in children_of(job):
        read = [] if child.reads is None else [values[child.reads]]
        (value,) = compute(child.job, [*read, *values_of_children(child.job)], 1)
        values.append(value)
    return values


@define
class Workload:
    """The graph of one session, as it grows."""

    draft: Draft
    random: Random
    values: dict[ObjectId, Value] = Factory(dict)
    usable: list[ObjectId] = Factory(list)  # kept: tasks of later submissions may read them
    tasks: list[TaskId] = Factory(list)
    makers: list[TaskId] = Factory(list)  # those that have outputs
    unsure: set[ObjectId] = Factory(set)  # perhaps cancelled
    siblings: dict[ObjectId, list[ObjectId]] = Factory(dict)  # the outputs of its task
    readers: dict[ObjectId, list[ObjectId]] = Factory(dict)  # what was made of it

    @staticmethod
    def of(session: SessionId, random: Random) -> Workload:
        return Workload(Draft(session), random)

    def grow(self, count: int) -> list[ObjectId]:
        """Adds a constant and some tasks to the next submission; gives what is kept of them."""
        random, draft = self.random, self.draft
        data = random.randbytes(random.choice([0, 10, 9000]))
        constant = draft.constant(data, keep=random.random() < 0.5)
        self.values[constant] = data
        here = [constant]
        kept: list[ObjectId] = []
        for _ in range(count):
            inputs = random.choices(here + self.usable, k=random.choice([0, 1, 1, 2, 3]))
            keep = random.random() < 0.4
            made = self._add_task(list(dict.fromkeys(inputs)), keep=keep)
            here += made
            kept += made if keep else []
        self.usable += kept
        if random.random() < 0.2:
            kept += self._add_shuffle()
        return kept

    def _add_task(self, inputs: list[ObjectId], *, keep: bool) -> list[ObjectId]:
        random = self.random
        job = self._job(fails=random.random() < 0.02)
        if random.random() < 0.1:
            job = evolve(job, children=random.choice([1, 2, 4]))
        outputs = random.choice([0, 1, 1, 1, 2])
        read = [self.values[one] for one in inputs]
        return self._add(job, inputs, read, outputs, keep=keep)

    def _job(self, *, fails: bool = False) -> Job:
        random = self.random
        return Job(
            len(self.tasks),
            random.choice([0.0, 0.001, 0.05, 0.5, 2.0]),
            random.random() < 0.5,
            fails,
            random.choice([0, 0, 0, 0, 1, 2]),
        )

    def _add_shuffle(self) -> list[ObjectId]:
        """Partitioned objects, the list of them, and tasks that read a part of each; the results
        of these, which are kept."""
        random = self.random
        parts = random.choice([1, 2, 4])
        splits: list[ObjectId] = []
        for _ in range(random.choice([1, 2, 4])):
            job = evolve(self._job(fails=random.random() < 0.02), parts=parts)
            splits += self._add(job, [], [], 1, keep=False)
        _, (listed,) = self.draft.task(*splits, cpus=0, task_type=EXCHANGE, tries=MANY_CRASHES)
        whole = [one for one in map(self.values.get, splits) if one is not None]
        self.values[listed] = b"" if len(whole) == len(splits) else None
        self._note(splits, [listed])
        made: list[ObjectId] = []
        for part in range(parts):
            job = evolve(self._job(), part=part)
            read: list[Value] = [part_of(one, part) for one in whole]
            if len(whole) < len(splits):
                read.append(None)
            made += self._add(job, [listed], read, 1, keep=True)
        self.usable += made
        return made

    def _add(
        self, job: Job, inputs: list[ObjectId], read: list[Value], outputs: int, *, keep: bool
    ) -> list[ObjectId]:
        """A task, and what it gives for what it reads."""
        random = self.random
        task, made = self.draft.task(
            *inputs,
            outputs=outputs,
            cpus=random.choice([1, 1, 1, 2]),
            keep=keep,
            tries=MANY_CRASHES,
            config=job.pack(),
            priority=random.choice([0, 0, 1]),
            idempotent=random.random() < 0.8,
        )
        self.tasks.append(task)
        if made:
            self.makers.append(task)
        known = [one for one in read if one is not None]
        if job.fails or len(known) < len(read):
            self.values.update((one, None) for one in made)
        else:
            results = compute(job, [*known, *values_of_children(job)], outputs)
            self.values.update(zip(made, results, strict=True))
        self._note(inputs, made)
        return made

    def _note(self, inputs: list[ObjectId], made: list[ObjectId]) -> None:
        """Who reads what, so that it is known what a cancelled task takes along."""
        for one in made:
            self.siblings[one] = made
        for one in inputs:
            self.readers.setdefault(one, []).extend(made)
            if one in self.unsure:
                self.unsure.update(made)

    def may_be_cancelled(self, target: ObjectId) -> None:
        """Nobody knows what becomes of this, and of what is made of it."""
        if target not in self.unsure:
            self.unsure.add(target)
            for one in (*self.siblings.get(target, ()), *self.readers.get(target, ())):
                self.may_be_cancelled(one)

    def check_delivery(self, answer: WaitAnswer) -> None:
        """What came along with the answer of a wait has the right value."""
        delivery = answer.delivery
        for target, data in zip(delivery.ids, delivery.data, strict=True):
            if data and data != self.values[target]:
                raise InvariantError(f"the object {target} was delivered with a wrong value")
