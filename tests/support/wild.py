"""A world in which reports are late, repeated, or come from the dead, and nobody behaves.

Orders arrive at once and reports wait in an outbox until they are delivered, one by one. For the
server that is every interleaving: what a governor did before it heard of an order, it has reported.
"""

from __future__ import annotations

from collections import deque
from random import Random

from attrs import Factory, define

from rain.base.ids import GovernorId, ObjectId, RequestId, SessionId, TaskId, session_of
from rain.base.wire.update import Update
from rain.server.core.later_orders import Later
from rain.server.core.messages import GovernorUpdated
from tests.support.fake_client import FakeClient
from tests.support.fake_governor import FakeGovernor
from tests.support.submissions import Draft
from tests.support.world import World

SENT_REMEMBERED = 20


@define(eq=False)
class WildSession:
    """What its client knows of a session."""

    client: FakeClient
    draft: Draft
    tasks: list[TaskId] = Factory(list)
    objects: list[ObjectId] = Factory(list)
    kept: list[ObjectId] = Factory(list)

    owned: bool = True  # its client has opened it, and did not only join

    @property
    def id(self) -> SessionId:
        return self.draft.session


@define(eq=False)
class WildWorld:
    """A world, what is under way in it, and who waits for what."""

    world: World
    sessions: list[WildSession] = Factory(list)
    outboxes: dict[GovernorId, deque[Update]] = Factory(dict)
    sent: deque[tuple[GovernorId, Update]] = Factory(lambda: deque(maxlen=SENT_REMEMBERED))
    waiting: dict[RequestId, FakeClient] = Factory(dict)

    def post(self, governor: FakeGovernor, update: Update) -> None:
        """A governor reports; the report is under way."""
        self.outboxes.setdefault(governor.id, deque()).append(update)

    def deliver(self, governor_id: GovernorId, count: int = 1) -> None:
        """The oldest reports of a governor arrive, even if it is gone meanwhile."""
        outbox = self.outboxes.get(governor_id, deque())
        updates = [outbox.popleft() for _ in range(min(count, len(outbox)))]
        self.sent += [(governor_id, update) for update in updates]
        self.world.turn(*[GovernorUpdated(governor_id, update) for update in updates])
        if not outbox:
            self.outboxes.pop(governor_id, None)

    def deliver_all(self) -> None:
        """Nothing is under way any more."""
        for governor_id in list(self.outboxes):
            self.deliver(governor_id, len(self.outboxes[governor_id]))

    def work(self, governor: FakeGovernor, size: int = 50_000) -> None:
        """A governor fetches what it can, finishes what it can, and ends what was cancelled.

        Of what it was asked to return it returns every other task.
        """
        if len(governor.asked) > 1:
            self.post(governor, governor.returned(*list(governor.asked)[::2]))
        self.post(governor, self.arrived(governor, governor.fetching()))
        self.post(governor, governor.finished(*governor.runnable(), size=size))
        if governor.cancelled:
            self.post(governor, governor.ended(*governor.cancelled))

    def mischief(self, random: Random) -> None:
        """One governor does or says something, or the wire plays tricks."""
        world = self.world
        if not world.governors:
            return
        governor = random.choice(world.governors)
        runnable, fetching = governor.runnable(), governor.fetching()
        match random.randrange(10):
            case 0 | 1 if runnable:
                some = random.sample(runnable, random.randint(1, len(runnable)))
                self.post(governor, governor.finished(*some, size=random.choice((7, 50_000))))
            case 2 if runnable:
                self.post(governor, governor.started(*runnable))
            case 3 if fetching:
                self.post(governor, self.arrived(governor, fetching[:2]))
            case 4 if fetching:
                self.post(governor, Update(unfetched=[random.choice(fetching)]))
            case 7 if governor.cancelled:
                self.post(governor, governor.ended(random.choice(list(governor.cancelled))))
            case 8 | 9 if governor.asked:
                some = random.sample(list(governor.asked), random.randint(1, len(governor.asked)))
                self.post(governor, governor.returned(*some))
            case 5 if self.sent:
                world.turn(GovernorUpdated(*random.choice(self.sent)))
            case _:
                self.deliver(governor.id, random.randint(1, 3))

    def arrived(self, governor: FakeGovernor, objects: list[ObjectId]) -> Update:
        """Tries to fetch these objects from where the server said that they are."""
        found = [o for o in objects if self._is_at(o, governor.coming[o])]
        missing = [o for o in objects if o not in found]
        update = governor.located(*found)
        update.unfetched = missing
        return update

    def _is_at(self, object_id: ObjectId, source: str) -> bool:
        if source == "server":
            data_object = self.world.state.graph.objects.get(object_id)
            return data_object is not None and data_object.is_at_server
        return any(
            other.source == source and object_id in other.held and object_id not in other.coming
            for other in self.world.governors
        )

    def check_holdings(self) -> None:
        """Where no report is under way, governors run and hold what the server thinks."""
        for fake in self.world.governors:
            if self.outboxes.get(fake.id):
                continue
            node = fake.node
            assert fake.tasks == {task.id: task.last_run().number for task in node.assigned}
            making = {output.id for task in node.assigned for output in task.outputs}
            held = {copy.object.id for copy in node.objects.values() if copy.is_known}
            later = self.world.state.later.waiting.get(fake.id, Later())
            over = {o for o in fake.copies if session_of(o) in later.forget_sessions}
            dropping = over.union(later.drops)
            assert not dropping & (held | making)
            assert fake.copies - making - dropping == held - making
            assert set(fake.held) >= held

    def ended(self, *ids: SessionId) -> None:
        """Sessions are over, for all who were in them."""
        self.sessions = [session for session in self.sessions if session.id not in ids]

    def kept_in(self, session: WildSession) -> list[ObjectId]:
        """All that can be read there, no matter who keeps it."""
        return [kept for other in self.sessions if other.id == session.id for kept in other.kept]

    def living(self) -> list[WildSession]:
        """The sessions that have not failed."""
        sessions = self.world.state.graph.sessions
        return [session for session in self.sessions if sessions[session.id].failure is None]

    def settle(self) -> None:
        """Lets everything run to its end, on a fresh governor and on those that are left."""
        self.world.governor(cpus=16)
        for _ in range(10 + 4 * len(self.world.state.graph.tasks)):  # those of tasks, too
            self.deliver_all()
            busy = False
            for fake in list(self.world.governors):
                busy = busy or bool(fake.tasks or fake.coming)
                self.work(fake)
            if not busy and not self.unfinished():
                break
        self.deliver_all()
        assert not self.unfinished(), "the world does not come to rest"

    def unfinished(self) -> list[object]:
        """Tasks that still have to run, or to end."""
        tasks = self.world.state.graph.tasks.values()
        return [task for task in tasks if not task.is_done or task.assigned is not None]
