"""Spec 1.3: ids as users see them."""

import json

import pytest

from rain.client import Client, blob, tasks
from rain.common import ID

pytestmark = pytest.mark.whole


def test_tasks_and_objects_are_numbered_together_from_ten_over_all_submits(client: Client) -> None:
    with client.new_session("numbers") as session:
        first = blob("x")
        task = tasks.Concat([first])
        session.keep_all()
        session.submit()
        later = tasks.Concat([first])
        session.submit()

        ids = [first.id, *sorted([task.id, task.output.id]), *sorted([later.id, later.output.id])]
        assert [number.id for number in ids] == [10, 11, 12, 13, 14]
        assert {number.session_id for number in ids} == {session.session_id}


def test_an_id_is_a_pair_with_a_short_name(client: Client) -> None:
    with client.new_session("first") as first, client.new_session("second") as second:
        one = blob("x")
        assert second.session_id == first.session_id + 1
        assert one.id == (second.session_id, 10)
        assert repr(one.id) == f"{second.session_id}/10"
        assert json.dumps(one.id) == f"[{second.session_id}, 10]"
        assert ID(*json.loads(json.dumps(one.id))) == one.id
