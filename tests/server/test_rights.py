"""A user sees the sessions of that user, and an admin all of them."""

from __future__ import annotations

import pytest
from attrs import define

from rain.base.failures import OnFailure
from rain.base.ids import FIRST_NUMBER, ObjectId, TaskId, pack
from rain.base.users import UserRule
from rain.base.wire.answers import JoinedSession
from rain.base.wire.printed import Watch
from rain.base.wire.requests import OpenSession
from rain.server.core import rights
from rain.server.core.messages import AnyAnswer, Granted, Refuse, UsersRead
from tests.support.fake_client import FakeClient, answer_of
from tests.support.scenes import Scene, scene
from tests.support.world import World, new_world


@define(eq=False)
class Cluster:
    world: World
    owner: FakeClient
    ada: FakeClient
    bob: FakeClient
    root: FakeClient


@pytest.fixture
def cluster() -> Cluster:
    world = new_world()
    world.turn(UsersRead((UserRule("root", admin=True), UserRule("*"))))
    return Cluster(world, *map(world.client, ("", "ada", "bob", "root")))


def why(answer: AnyAnswer) -> str:
    """Why it was refused; "" if it was not."""
    return str(answer.reason) if isinstance(answer, Refuse) else ""


def test_a_session_is_joined_by_its_user_admins_and_the_owner_only(cluster: Cluster) -> None:
    session = cluster.ada.session().session
    assert why(cluster.bob.ask_join(session)) == (
        f"the session {session} belongs to ada, and bob may not see it"
    )
    for client in (cluster.world.client("ada"), cluster.root, cluster.owner):
        assert not why(client.ask_join(session))


def test_a_session_of_the_owner_is_not_for_users(cluster: Cluster) -> None:
    session = cluster.owner.session().session
    assert "belongs to the owner of the cluster" in why(cluster.ada.ask_join(session))


def test_equal_names_of_two_users_are_told_apart(cluster: Cluster) -> None:
    of_ada, of_bob = cluster.ada.session("work").session, cluster.bob.session("work").session
    again = cluster.world.client("bob").ask_join(type(of_bob)(0), "work")
    joined = answer_of(again, JoinedSession)
    assert joined.session == of_bob != of_ada


def test_a_name_means_a_session_of_the_owner_only_if_it_begins_with_a_slash(
    cluster: Cluster,
) -> None:
    cluster.owner.session("team/work", OnFailure.CONTINUE, durable=True)
    state = cluster.world.state
    assert state.durable.full_name("ada", "/team/work") == "team/work"
    assert state.durable.full_name("ada", "team/work") == "ada/team/work"


def test_what_a_task_opens_belongs_to_the_user_of_the_task() -> None:
    s = scene(1)
    client = s.world.client("ada")
    draft = client.session()
    task, _ = draft.task(keep=True)
    client.submit(draft)
    s.assign(task)
    s.governors[0].start(task)
    nested = s.world.client().session(parent=task)  # over the connection of its executor
    assert s.world.state.graph.sessions[nested.session].belongs_to == "ada"


def test_futures_of_another_user_give_no_data() -> None:
    s = scene(1)
    made, bob = _made_by_ada(s)
    refused = bob.take(made, keep=True)
    assert "belongs to ada, and bob may not see it" in why(refused)
    assert not why(s.world.client("ada").take(made, keep=True))


def running_task_of(s: Scene, user: str) -> TaskId:
    client = s.world.client(user)
    draft = client.session()
    task, _ = draft.task(keep=True)
    client.submit(draft)
    s.assign(task)
    s.governors[0].start(task)
    return task


def test_a_task_has_the_rights_of_its_user_though_its_executor_has_the_key_of_the_cluster() -> None:
    s = scene(4)
    made, _ = _made_by_ada(s)
    executor = s.world.client()
    assert not why(executor.take(made, keep=True))  # it asks for no task yet: the owner's
    executor.session(parent=running_task_of(s, "bob"))
    assert "belongs to ada, and bob may not see it" in why(executor.take(made, keep=True))
    of_ada = s.world.state.graph.objects[made].session
    assert "bob may not see it" in why(executor.ask_join(of_ada.id))
    # The next task that the executor runs is one of ada's.
    executor.session(parent=running_task_of(s, "ada"))
    assert not why(executor.take(made, keep=True))


def test_a_user_does_not_ask_for_tasks_of_others() -> None:
    s = scene(4)
    task = running_task_of(s, "ada")
    bob = s.world.client("bob")
    asked = OpenSession("mine", "", OnFailure.STOP, task)
    assert "belongs to ada, and bob may not ask for it" in why(bob.ask(asked))
    assert not why(bob.ask(OpenSession("mine")))


def _made_by_ada(s: Scene) -> tuple[ObjectId, FakeClient]:
    ada = s.world.client("ada")
    draft = ada.session(on_failure=OnFailure.CONTINUE)
    task, (made,) = draft.task(keep=True)
    ada.submit(draft)
    s.run(task)
    return made, s.world.client("bob")


def test_each_user_has_names_of_the_own(cluster: Cluster) -> None:
    for client in (cluster.ada, cluster.bob, cluster.owner):
        assert not why(client.ask_open("sweep"))
    assert [one.name for one in cluster.ada.durable()] == ["sweep"]
    assert [one.name for one in cluster.owner.durable()] == ["ada/sweep", "bob/sweep", "sweep"]
    assert [one.belongs_to for one in cluster.root.durable()] == ["ada", "bob", ""]
    assert not why(cluster.ada.remove("sweep"))
    assert [one.name for one in cluster.owner.durable()] == ["bob/sweep", "sweep"]


def test_a_durable_session_is_opened_by_those_it_is_shared_with(cluster: Cluster) -> None:
    cluster.ada.ask_open("sweep")
    said = "belongs to ada, who has not shared it with bob"
    assert said in why(cluster.bob.ask_open("ada/sweep"))
    assert not why(cluster.ada.share("sweep", "bob"))
    assert not why(cluster.bob.ask_open("ada/sweep"))
    assert [one.name for one in cluster.bob.durable()] == ["ada/sweep"]
    assert said in why(cluster.ada.share("sweep")) or said in why(cluster.bob.ask_open("ada/sweep"))
    assert not cluster.bob.durable()
    cluster.ada.share("sweep", "*")
    assert not why(cluster.bob.ask_open("ada/sweep"))


def test_a_shared_session_is_removed_and_shared_by_its_user_only(cluster: Cluster) -> None:
    cluster.ada.ask_open("sweep")
    cluster.ada.share("sweep", "bob")
    for refused in (cluster.bob.remove("ada/sweep"), cluster.bob.share("ada/sweep", "bob", "eve")):
        assert "belongs to ada, who alone removes and shares it" in why(refused)
    assert cluster.owner.durable()[0].shared_with == ("bob",)
    assert not why(cluster.root.remove("ada/sweep"))


def test_a_session_that_the_owner_shares_has_a_name_for_users(cluster: Cluster) -> None:
    cluster.owner.ask_open("sweep")
    cluster.owner.share("sweep", "*")
    (seen,) = cluster.ada.durable()
    assert not why(cluster.ada.ask_open(seen.name))
    assert len(cluster.owner.durable()) == 1


def test_only_admins_promise_governors(cluster: Cluster) -> None:
    assert "ada may not promise governors" in why(cluster.ada.promise())
    assert isinstance(cluster.root.promise(), Granted)


def test_a_user_watches_no_output_of_others(cluster: Cluster) -> None:
    of_ada, of_bob = cluster.ada.session().session, cluster.bob.session().session
    watch = Watch(frozenset([of_ada, of_bob]))
    state = cluster.world.state
    assert rights.may_watch(state, cluster.bob.id, watch) == Watch(frozenset([of_bob]))
    assert rights.may_watch(state, cluster.root.id, watch) == watch
    assert rights.may_watch(state, cluster.owner.id, watch) == watch


def test_a_user_watches_own_tasks_only(cluster: Cluster) -> None:
    of_ada, of_bob = (
        TaskId(pack(client.session().session, FIRST_NUMBER))
        for client in (cluster.ada, cluster.bob)
    )
    watch = Watch(tasks=frozenset([of_ada, of_bob]))
    state = cluster.world.state
    assert rights.may_watch(state, cluster.bob.id, watch) == Watch(tasks=frozenset([of_bob]))
    assert rights.may_watch(state, cluster.root.id, watch) == watch


def test_a_locked_user_is_not_let_in(cluster: Cluster) -> None:
    state = cluster.world.state
    assert not rights.why_not(state, "ada")
    cluster.world.turn(UsersRead((UserRule("ada", locked=True),)))
    assert rights.why_not(state, "ada") == "the user ada is locked on this cluster"
    assert not rights.why_not(state, "bob")
    cluster.world.turn(UsersRead((UserRule("*", locked=True), UserRule("ada"))))
    assert rights.why_not(state, "bob")
    assert not rights.why_not(state, "ada")
    assert not rights.why_not(state, "")
