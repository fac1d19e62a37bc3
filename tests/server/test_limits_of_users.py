"""What is over the limit of a user is refused by name, and nothing of it is half done."""

from __future__ import annotations

from rain.base.failures import OnFailure
from rain.base.users import UserRule
from rain.base.wire.requests import OpenSession
from rain.server.core.messages import AnyAnswer, Granted, Refuse, UsersRead
from tests.support.fake_client import FakeClient
from tests.support.scenes import Scene, scene


def begin(rule: UserRule) -> tuple[Scene, FakeClient]:
    s = scene(1)
    s.world.turn(UsersRead((rule,)))
    return s, s.world.client(rule.name)


def why(answer: AnyAnswer) -> str:
    assert isinstance(answer, Refuse)
    return str(answer.reason)


def test_tasks_over_the_limit_are_refused_whole() -> None:
    s, ada = begin(UserRule("ada", tasks=2))
    draft = ada.session(on_failure=OnFailure.CONTINUE)
    first, _ = draft.task()
    assert isinstance(ada.submit(draft), Granted)
    draft.task()
    draft.task()
    assert why(ada.submit(draft)) == (
        "ada has 1 unfinished tasks and submits 2 more: 2 are allowed at a time (tasks in the file"
        " of users)"
    )
    assert len(s.world.state.graph.sessions[draft.session].tasks) == 1
    # With fewer it goes on, and others are not concerned.
    draft.task()
    assert isinstance(ada.submit(draft), Granted)
    for _ in range(3):
        s.draft.task()
    s.submit()
    # What has finished makes room.
    s.run(first)
    draft.task()
    assert isinstance(ada.submit(draft), Granted)


def test_the_limit_is_for_all_sessions_of_the_user_together() -> None:
    s, ada = begin(UserRule("ada", tasks=1))
    draft = ada.session()
    draft.task()
    ada.submit(draft)
    other = s.world.client("ada")
    more = other.session()
    more.task()
    assert "ada has 1 unfinished tasks" in why(other.submit(more))


def test_what_tasks_submit_is_not_limited() -> None:
    s, ada = begin(UserRule("ada", tasks=1))
    draft = ada.session()
    task, _ = draft.task(keep=True)
    ada.submit(draft)
    s.assign(task)
    s.governors[0].start(task)
    inside = s.world.client()
    nested = inside.session(parent=task)
    nested.task()
    assert isinstance(inside.submit(nested), Granted)


def test_sessions_over_the_limit_are_refused_until_one_is_closed() -> None:
    s, ada = begin(UserRule("*", sessions=1))
    ada = s.world.client("ada")
    session = ada.session().session
    assert "ada has 1 open sessions, and may have 1" in why(ada.ask(OpenSession("more")))
    assert "ada has 1 open sessions" in why(s.world.client("ada").ask_open("sweep"))
    assert not s.world.state.durable.by_name
    s.world.client("bob").session()
    ada.close(session)
    ada.session()
