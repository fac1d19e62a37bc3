"""What a session leaves behind: nothing, and without the help of the garbage collector."""

from __future__ import annotations

import gc

from rain.graph import DataObject, Session, Task
from rain.scheduler.rain import RainScheduler
from tests.support.scenes import Scene, scene_with


def nodes_alive() -> int:
    return sum(isinstance(one, Task | DataObject | Session) for one in gc.get_objects())


def run_half_of_a_tree(s: Scene) -> None:
    made = [s.draft.task()[1][0] for _ in range(16)]
    while len(made) > 1:
        made = [s.draft.task(*made[i : i + 2], keep=True)[1][0] for i in range(0, len(made), 2)]
    s.submit()
    for governor in s.governors:
        for _ in range(10):
            governor.finish(*governor.runnable()[:1])


def test_the_nodes_of_a_closed_session_are_gone_at_once() -> None:
    # given
    gc.collect()
    before = nodes_alive()
    s = scene_with(RainScheduler(), 2, 2)
    gc.disable()
    try:
        run_half_of_a_tree(s)
        assert nodes_alive() > before

        # when
        s.client.close(s.draft.session)
        s.world.turn()

        # then
        assert nodes_alive() == before
    finally:
        gc.enable()
