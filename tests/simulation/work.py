"""What the tasks of the simulation compute, and what must come out: a plain evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from random import Random

import msgpack
from attrs import Factory, astuple, define, frozen

from rain.base.attempts import Attempts
from rain.base.errors import InvariantError
from rain.base.ids import ObjectId, SessionId, TaskId
from rain.base.wire.answers import WaitAnswer
from tests.support.submissions import Draft

SMALL, LARGE = 32, 100_000
"""Bytes that outputs have by what they say; a large one is a file."""

SLOW = 20.0
"""Seconds that a task takes longer where it is slow."""

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

    def pack(self) -> bytes:
        packed: bytes = msgpack.packb(astuple(self))
        return packed

    @staticmethod
    def unpack(config: bytes) -> Job:
        return Job(*msgpack.unpackb(config))


def compute(job: Job, inputs: Sequence[bytes], count: int) -> list[bytes]:
    """The outputs of a task that does not fail."""
    digest = blake2b(job.pack(), digest_size=SMALL - 1)
    for one in inputs:
        digest.update(one)
    return [digest.digest() + bytes([place]) for place in range(count)]


@define
class Workload:
    """The graph of one session, as it grows."""

    draft: Draft
    random: Random
    values: dict[ObjectId, Value] = Factory(dict)
    usable: list[ObjectId] = Factory(list)  # kept: tasks of later submissions may read them
    tasks: list[TaskId] = Factory(list)
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
        return kept

    def _add_task(self, inputs: list[ObjectId], *, keep: bool) -> list[ObjectId]:
        random = self.random
        seconds = random.choice([0.0, 0.001, 0.05, 0.5, 2.0])
        job = Job(
            len(self.tasks),
            seconds,
            random.random() < 0.5,
            random.random() < 0.02,
            random.choice([0, 0, 0, 0, 1, 2]),
        )
        outputs = random.choice([0, 1, 1, 1, 2])
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
        for one in made:
            self.siblings[one] = made
        read = [self.values[one] for one in inputs]
        known = [one for one in read if one is not None]
        if job.fails or len(known) < len(read):
            self.values.update((one, None) for one in made)
        else:
            self.values.update(zip(made, compute(job, known, outputs), strict=True))
        for one in inputs:
            self.readers.setdefault(one, []).extend(made)
            if one in self.unsure:
                self.unsure.update(made)
        return made

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
