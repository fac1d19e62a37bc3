"""Whole runs in which much happens, made from a seed."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from random import Random

from rain.base.attempts import Attempts
from rain.base.wire.requests import Fetch, WaitFor
from rain.scheduler.api import Scheduler
from rain.server.core.messages import Asked
from rain.server.core.reactor_settings import ReactorSettings
from tests.support.wild import WildSession, WildWorld
from tests.support.world import World, new_world


def wild_run(seed: int, make: Callable[[], Scheduler], settings: ReactorSettings) -> WildWorld:
    """Sessions, submits, unkeeps, waits, fetches, and governors that come, go and misbehave."""
    random = Random(seed)
    wild = WildWorld(new_world(make, settings))
    world = wild.world
    for _ in range(2):
        client = world.client()
        wild.sessions.append(WildSession(client, client.session()))
    for _ in range(150):
        if len(world.governors) < 3:
            ends = random.choice((inf, inf, inf, 3.0))
            world.governor(random.choice((1, 2, 4)), time_left=ends)
        session = random.choice(wild.sessions)
        match random.randrange(12):
            case 0 | 1:
                _submit(random, session)
            case 2 if session.kept:
                session.client.unkeep(session.kept.pop())
            case 3 if session.kept:
                asked = Asked(
                    session.client.id, world.request(), Fetch(random.choice(session.kept))
                )
                world.turn(asked)
            case 4 if session.tasks:
                _wait(random, world, session)
            case 5:
                random.choice(world.governors).leave()
            case 6 if random.random() < 0.1:
                governor = random.choice(world.governors)
                for task in governor.runnable()[:1]:
                    wild.post(governor, governor.failed(task))
            case _:
                for _ in range(5):
                    wild.mischief(random)
    return wild


def _wait(random: Random, world: World, session: WildSession) -> None:
    mode = random.choice(("all", "some", "session"))
    named = tuple(random.sample(session.tasks, 1))
    asked = Asked(session.client.id, world.request(), WaitFor(session.id, named, (), mode))
    world.turn(asked)


def _submit(random: Random, session: WildSession) -> None:
    draft = session.draft
    usable = [*session.kept, draft.constant(bytes(random.choice((3, 20_000))), keep=True)]
    for _ in range(random.randint(1, 6)):
        inputs = random.choices(usable, k=random.randrange(3))
        limits = Attempts(timeout=random.choice((0.0, 0.0, 2.0, 30.0)))
        task, made = draft.task(*inputs, outputs=random.choice((1, 1, 2)), tries=limits)
        usable += made
        session.tasks.append(task)
        if random.random() < 0.4:
            draft.submission.kept += made
            session.kept += made
    if random.random() < 0.2:
        session.client.world.interrupt_after = random.randrange(4)
    session.client.submit(draft)
