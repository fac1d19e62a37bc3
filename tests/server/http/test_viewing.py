"""With the key of a user HTTP shows the sessions of this user, and nothing of those of others."""

from __future__ import annotations

from pathlib import Path

import pytest

from rain.base.admission import Secret
from rain.base.failures import OnFailure
from rain.base.users import UserRule
from rain.base.wire.requests import OpenSession, ShareDurable
from rain.server.core.messages import Granted, UsersRead
from rain.server.history.reader import EventReader
from tests.server.dashboard.stories import Story, story
from tests.server.http.asking import Got, ask, serving, site

SECRET = Secret.of("0123456789abcdef")


@pytest.fixture
def tale(tmp_path: Path) -> Story:
    """Two sessions of tasks: that of ada, which is open, and that of bob, which is over."""
    tale = story(tmp_path)
    for name in ("ada", "bob"):
        client = tale.world.client(name)
        draft = client.session(f"work of {name}")
        draft.task()
        client.submit(draft)
        if name == "bob":
            client.close(draft.session)
    return tale


def asked(tale: Story, user: str, method: str, path: str, body: bytes = b"") -> Got:
    guarded = site(tale.world.state, EventReader(tale.write()))
    guarded.secret = SECRET
    key = SECRET.for_user(user) if user else SECRET
    got: list[Got] = []

    async def use(address: str) -> None:
        headers = {"authorization": f"Bearer {key.http_token()}"}
        got.append(await ask(address, method, path, body, headers=headers))

    serving(guarded.answer, use)
    return got[0]


OF_A_SESSION = ("session", "graph", "timeline", "tasks", "objects", "events")


@pytest.mark.parametrize("number", [1, 2])
def test_a_session_is_shown_to_its_user_and_the_owner_only(tale: Story, number: int) -> None:
    user, other = ("ada", "bob") if number == 1 else ("bob", "ada")
    paths = [f"/api/{name}?session={number}" for name in OF_A_SESSION]
    for path in [*paths, f"/api/task?session={number}&task=1"]:
        got = asked(tale, other, "GET", path)
        assert (got.status, got.body) == (
            403,
            f"{other} may not see the session {number}\n".encode(),
        )
    for path in paths:
        assert asked(tale, user, "GET", path).status == 200
        assert asked(tale, "", "GET", path).status == 200


@pytest.mark.parametrize("path", ["/status", "/lite/", "/api/sessions", "/api/events", "/metrics"])
def test_what_is_of_all_sessions_is_for_a_user_that_of_the_own(tale: Story, path: str) -> None:
    whole = asked(tale, "", "GET", path).body
    of_ada, of_bob = (asked(tale, name, "GET", path).body for name in ("ada", "bob"))
    sign = b'user="bob"' if path == "/metrics" else b"work of bob"
    if path not in ("/status", "/lite/", "/metrics"):  # which know of no session that is over
        assert sign in whole
        assert sign in of_bob
    assert sign not in of_ada
    assert b"ada" in of_ada
    assert b"work of ada" not in of_bob
    assert b'user="ada"' not in of_bob


def test_raw_events_are_those_of_a_session_that_the_user_sees(tale: Story) -> None:
    def of(number: int) -> bytes:
        return b'{"session": {"value": %d, "mode": "="}}' % number

    events = asked(tale, "ada", "POST", "/events", of(1)).json
    assert [one["event"]["type"] for one in events] == ["SessionNew", "ClientSubmit"]
    assert asked(tale, "ada", "POST", "/events", of(2)).status == 403
    assert asked(tale, "ada", "POST", "/events", of(99)).status == 403
    assert asked(tale, "ada", "POST", "/events", b"{}").status == 403
    loose = b'{"session": {"value": 0, "mode": ">"}}'
    assert asked(tale, "ada", "POST", "/events", loose).status == 403
    assert asked(tale, "", "POST", "/events", b"{}").status == 200


def test_a_user_who_is_locked_is_answered_no_more_and_an_admin_sees_all(tale: Story) -> None:
    tale.world.turn(UsersRead((UserRule("eve", locked=True), UserRule("root", admin=True))))
    got = asked(tale, "eve", "GET", "/status")
    assert (got.status, got.body) == (403, b"the user eve is locked on this cluster\n")
    assert asked(tale, "root", "GET", "/api/session?session=2").status == 200
    assert b"work of bob" in asked(tale, "root", "GET", "/api/sessions").body


def test_a_durable_session_that_was_shared_is_shown_to_those_it_is_shared_with(
    tale: Story,
) -> None:
    ada = tale.world.client("ada")
    opened = ada.ask(OpenSession("sweep", "", OnFailure.CONTINUE, durable=True))
    assert isinstance(opened, Granted)
    path = f"/api/session?session={opened.answer}"
    assert asked(tale, "bob", "GET", path).status == 403
    assert isinstance(ada.ask(ShareDurable("sweep", ("bob",))), Granted)
    assert asked(tale, "bob", "GET", path).status == 200
    assert b"ada/sweep" in asked(tale, "bob", "GET", "/api/sessions").body
    assert asked(tale, "eve", "GET", path).status == 403
