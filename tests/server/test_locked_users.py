"""What becomes of the work of a user who is locked in the middle of it."""

from __future__ import annotations

from rain.base.failures import OnFailure
from rain.base.states import TaskRow
from rain.base.users import UserRule
from rain.server.core.messages import ClientGivenUp, UsersRead
from tests.scheduler.sharing import brought
from tests.support.remaking import come_back, remake
from tests.support.scenes import Scene, scene

LOCKED = UsersRead((UserRule("ada", locked=True),))
WHY = "the user ada is locked on this cluster"


def at_work() -> Scene:
    """Ada and bob have tasks: some run, some are planned, and some wait for inputs."""
    s = scene(2)
    for name in ("ada", "bob"):
        client = s.world.client(name)
        brought(s, client, 3, 0.5)
        draft = client.session()
        draft.task(*draft.task()[1])
        client.submit(draft)
    s.governors[0].start(*s.governors[0].runnable()[:2])
    return s


def users_at_work(s: Scene) -> set[str]:
    return {task.session.belongs_to for task in s.world.state.graph.tasks.values()}


def test_running_and_waiting_tasks_end_at_once_and_those_of_others_go_on() -> None:
    s = at_work()
    assert users_at_work(s) == {"ada", "bob"}
    effects = s.world.turn(LOCKED)
    (given_up,) = [one for one in effects if isinstance(one, ClientGivenUp)]
    assert given_up.why == WHY
    s.governors[0].end(
        *[task for task in s.governors[0].tasks if s.world.task(task).row is TaskRow.CANCELLING]
    )
    assert users_at_work(s) == {"bob"}
    remake(s.world)


def test_a_client_that_was_away_is_not_waited_for() -> None:
    s = at_work()
    come_back(s.world)  # whose clients are all away then
    s.world.turn(LOCKED)
    assert "ada" not in {client.user for client in s.world.state.graph.clients.values()}


def test_a_durable_session_goes_on_and_is_there_when_the_user_is_let_in_again() -> None:
    s = scene(1)
    ada = s.world.client("ada")
    draft = ada.session("sweep", OnFailure.CONTINUE, durable=True)
    task, _ = draft.task(keep=True)
    ada.submit(draft)
    s.world.turn(LOCKED)
    s.assign(task)
    s.governors[0].finish(task)
    assert s.world.task(task).row is TaskRow.FINISHED
    s.world.turn(UsersRead(()))
    assert [one.name for one in s.world.client("ada").durable()] == ["sweep"]
