"""A sound graph to be tampered with."""

from __future__ import annotations

from rain.base.attempts import Attempts
from rain.base.failures import OnFailure
from rain.base.ids import RequestId
from rain.base.resources import Resources
from rain.base.states import TaskMove
from rain.graph import Governor, Wait, WaitMode, claims
from rain.server.core.reactor_settings import ReactorSettings
from tests.support.scenes import scene


class Subject:
    """A graph with a task in every row, and objects in every state.

    Its session goes on: broken has failed, and skipped reads what it should have made. Ending was
    cancelled while it ran, and ended before.
    done -> held (kept, two copies); removed; small (kept, at the server); running; blocked; sent;
    asked was sent, and is to go to the other governor; queued; planned reads what queued makes;
    ahead reads what running makes; waiting reads it, too; ready; limited; paused has failed
    once.
    A guest has a handle of held.
    """

    def __init__(self) -> None:
        settings = ReactorSettings(overbooking=3, debug=True, governor_silence=1e9)
        s = scene(4, 1, settings=settings, on_failure=OnFailure.CONTINUE)
        done, (held, removed) = s.draft.task(outputs=2)
        s.draft.submission.kept.append(held)
        short, (small,) = s.draft.task(keep=True)
        running, (coming,) = s.draft.task(held)
        sent, _ = s.draft.task()
        asked, _ = s.draft.task()
        queued, (quiet,) = s.draft.task()
        planned, (later,) = s.draft.task(quiet)
        ahead, _ = s.draft.task(coming)
        waiting, _ = s.draft.task(coming)
        ready, _ = s.draft.task()
        paused, _ = s.draft.task(tries=Attempts(2, backoff=1e6))
        limited, _ = s.draft.task()
        blocked, _ = s.draft.task()
        broken, (never,) = s.draft.task()
        skipped, _ = s.draft.task(never)
        ended, _ = s.draft.task()
        ending, _ = s.draft.task()
        s.submit()
        s.client.cancel(s.draft.session, ended)
        s.assign(broken)
        s.governors[0].fail(broken)
        s.assign(paused)
        s.governors[0].fail(paused)
        s.run(done)
        s.assign(short)
        s.governors[0].finish(short, data=b"small")
        s.assign(running, asked)
        s.governors[0].start(running)
        s.plan(s.taking_back(asked), s.assigning(asked, to=1))
        s.assign(sent, queued, planned, ahead)
        s.copy(held, to=1)
        s.governors[1].locate(held)
        s.assign(blocked, to=1)
        s.governors[1].start(blocked)
        s.governors[1].send(s.governors[1].waiting(blocked))
        s.assign(ending, to=1)
        s.client.cancel(s.draft.session, ending)
        world = s.world
        self.graph = world.state.graph
        self.done, self.running, self.sent = map(world.task, (done, running, sent))
        self.blocked = world.task(blocked)
        self.asked = world.task(asked)
        self.queued, self.planned = map(world.task, (queued, planned))
        self.ahead, self.waiting, self.ready = map(world.task, (ahead, waiting, ready))
        self.paused = world.task(paused)
        self.broken, self.skipped = map(world.task, (broken, skipped))
        self.ended, self.ending = map(world.task, (ended, ending))
        self.never = world.object(never)
        self.held, self.removed, self.small = map(world.object, (held, removed, small))
        self.coming, self.later = world.object(coming), world.object(later)
        self.first, self.second = s.node(0), s.node(1)
        self.session = self.graph.sessions[s.draft.session]
        guest = s.world.client()
        guest.join(s.draft.session)
        self.guest = self.session.members[guest.id]
        claims.take_handle(self.guest, self.held, wants_data=False)
        world.task(limited).move(TaskMove.LIMIT)
        self.stranger = Governor(self.first.id, 9, "stranger:1", Resources())

    def wait(self) -> Wait:
        return Wait(RequestId(99), WaitMode.ALL, self.session)
