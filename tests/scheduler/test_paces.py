"""Users get cpus by their weights, whatever the number of their sessions."""

from __future__ import annotations

from rain.base.ids import TaskId
from rain.base.users import UserRule
from rain.scheduler.horizon import HorizonScheduler
from rain.scheduler.toolbox.paces import Paces, paces_of
from rain.server.core.messages import UsersRead
from tests.scheduler.sharing import brought, run_best
from tests.support.scenes import Scene, scene_with


def of_two_users(s: Scene, hint: float, sessions: int) -> tuple[list[list[TaskId]], list[TaskId]]:
    """Many sessions of ada, and one of bob, which all want more than there is."""
    of_ada = [brought(s, s.world.client("ada"), 120, hint) for _ in range(sessions)]
    return of_ada, brought(s, s.world.client("bob"), 120, hint)


def test_many_sessions_give_a_user_no_more_than_a_single_one() -> None:
    s = scene_with(HorizonScheduler(), 2)
    _, of_bob = of_two_users(s, 0.5, 5)
    run_best(s, 10, 0.5)
    assert abs(len({*run_best(s, 40, 0.5)} & {*of_bob}) - 20) <= 4


def test_nor_if_tasks_are_so_short_that_all_of_them_are_planned_when_they_come() -> None:
    s = scene_with(HorizonScheduler(), 2)
    _, of_bob = of_two_users(s, 0.001, 5)
    assert len({*run_best(s, 60, 0.001)} & {*of_bob}) >= 15  # one of six sessions would get 10


def test_a_weight_of_three_gives_three_times_as_much() -> None:
    s = scene_with(HorizonScheduler(), 2)
    s.world.turn(UsersRead((UserRule("bob", weight=3.0),)))
    _, of_bob = of_two_users(s, 0.5, 2)
    run_best(s, 20, 0.5)
    assert abs(len({*run_best(s, 40, 0.5)} & {*of_bob}) - 30) <= 4


def test_the_sessions_of_one_user_share_alike() -> None:
    s = scene_with(HorizonScheduler(), 2)
    of_ada, _ = of_two_users(s, 0.5, 2)
    run_best(s, 4, 0.5)
    run = {*run_best(s, 60, 0.5)}
    first, second = (len(run & {*tasks}) for tasks in of_ada)
    assert abs(first - second) <= 5


def test_a_user_who_comes_later_does_not_wait_for_all_that_is_there() -> None:
    s = scene_with(HorizonScheduler(), 2)
    brought(s, s.world.client("ada"), 60, 0.5)
    run_best(s, 6, 0.5)
    late = brought(s, s.world.client("bob"), 1, 0.5)
    assert late[0] in run_best(s, 4, 0.5)


def test_paces_follow_from_weights_and_sessions_at_work() -> None:
    s = scene_with(HorizonScheduler(), 2)
    s.world.turn(UsersRead((UserRule("bob", weight=4.0), UserRule("", weight=0.5))))
    of_two_users(s, 0.5, 3)
    s.world.client("ada").session()  # has nothing to do
    brought(s, s.world.client(), 1, 0.5)
    assert paces_of(s.world.state.graph) == {"ada": 3.0, "bob": 0.25, "": 2.0}


def test_without_users_nothing_is_counted() -> None:
    s = scene_with(HorizonScheduler(), 2)
    brought(s, s.client, 3, 0.5)
    assert not s.world.state.graph.has_users
    assert Paces().of(s.world.state.graph.sessions[s.draft.session]) == 1.0
