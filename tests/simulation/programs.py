"""What the clients of the simulation do: their work, and the comparison of what they get."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Protocol

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
    RemoveDurable,
    Submit,
    Unkeep,
    WaitFor,
)
from tests.simulation.client import Pause, Program
from tests.simulation.work import Workload


class Surroundings(Protocol):
    """What a client meets besides the server."""

    def read(self, holder: str, target: ObjectId) -> bytes | None:
        """What a governor has; None if it is not there (any more)."""
        ...

    def submitted(self, name: str, tasks: Sequence[TaskId]) -> None:
        """All tasks with outputs so far of a durable session that was opened by this name."""
        ...


def ordinary(name: str, seed: int, parts: int, around: Surroundings) -> Program:
    """Submits a graph in parts, cancels and drops some of it, and fetches what it has kept."""
    random = Random(seed)
    session = yield OpenSession(name, "", OnFailure.CONTINUE)
    work = Workload.of(session, random)
    for _ in range(parts):
        kept = work.grow(random.choice([1, 4, 8]))
        wanted = tuple(kept) if random.random() < 0.3 else ()
        yield from _wait(work, Submit(work.draft.take(), wanted), wanted)
        yield Pause(random.choice([0.0, 0.1, 3.0]))
        if kept and random.random() < 0.2:
            target = random.choice(kept)
            work.may_be_cancelled(target)
            yield Cancel(session, (), (target,), False, True, True)
        if len(work.usable) > 3 and random.random() < 0.4:
            dropped = [work.usable.pop(random.randrange(len(work.usable))) for _ in range(2)]
            yield Unkeep(tuple(dropped))
            yield HandlesGone((), tuple(dropped))
    yield from _fetch_all(work, random, around)
    yield CloseSession(session)


def visit(name: str, seed: int, parts: int, around: Surroundings, *, leaves: bool) -> Program:
    """Opens a durable session, and submits what all do that open it. It leaves before it has all
    of it, or removes the session in the end."""
    random = Random()
    random.seed(f"{seed} {leaves}")
    session = yield OpenSession(name, "", OnFailure.CONTINUE, None, durable=True)
    work = Workload.of(session, Random(seed))
    for _ in range(parts):
        work.grow(work.random.choice([1, 4, 8]))
        around.submitted(name, work.makers)
        yield Submit(work.draft.take(), ())
        yield Pause(random.choice([0.0, 0.1, 3.0]))
        if leaves and random.random() < 0.5:
            return
    if leaves and random.random() < 0.5:
        yield CloseSession(session)
        return
    yield from _fetch_all(work, random, around)
    yield CloseSession(session)
    if not leaves:
        try:
            yield RemoveDurable(name)
        except RefusedError as error:  # another one that has opened it was faster
            if "there is no durable session" not in str(error):
                raise InvariantError(f"a durable session cannot be removed: {error}") from error


def _wait(work: Workload, asked: Submit | WaitFor, wanted: tuple[ObjectId, ...]) -> Program:
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


def _fetch_all(work: Workload, random: Random, around: Surroundings) -> Program:
    """Waits for all that is kept, and compares it."""
    wanted = tuple(work.usable)
    yield from _wait(work, WaitFor(work.draft.session, (), wanted, "all"), wanted)
    for target in random.sample(work.usable, len(work.usable)):
        yield from _fetch(work, target, around)


def _fetch(work: Workload, target: ObjectId, around: Surroundings) -> Program:
    """Fetches an object until somebody who has it can be reached, and compares it."""
    expected = work.values[target]
    while True:
        try:
            fetched: Fetched = yield Fetch(target)
        except (RefusedError, SessionFailedError) as error:
            if expected is not None and target not in work.unsure:
                raise InvariantError(f"the object {target} cannot be fetched") from error
            return
        data = fetched.data if not fetched.holder else around.read(fetched.holder, target)
        if data is not None:
            if expected is None and target not in work.unsure:
                raise InvariantError(f"the object {target} cannot be, and was fetched")
            if expected is not None and bytes(data) != expected:
                raise InvariantError(f"the object {target} has a wrong value")
            return
        yield Pause(0.5)
