"""Specs and infos as JSON: the same as the client's own, from the columns of a submission."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rain.base.ids import ClientId, KindId, ObjectId, SessionId, TaskId, pack, unpack
from rain.base.kinds import DataType, ObjectKind, TaskKind
from rain.base.resources import Resources
from rain.base.wire.submission import ConstantColumns, Submission, TaskColumns
from rain.common.attributes import (
    ObjectInfo,
    ObjectSpec,
    SessionSpec,
    TaskInfo,
    TaskSpec,
    TaskSpecInput,
)
from rain.graph import Session
from rain.graph.session import Client
from rain.server.core.collector import Happenings
from rain.server.core.happenings import ClientSubmit, TaskNotes
from rain.server.history import forms


def _id(number: int) -> int:
    return pack(1, number)


def _submitted(submission: Submission) -> dict[str, Any]:
    happenings = Happenings()
    session = Session(SessionId(1), Client(ClientId(1)))
    session.task_kinds |= {kind.id: kind for kind in submission.task_kinds}
    session.object_kinds |= {kind.id: kind for kind in submission.object_kinds}
    happenings.submitted(1000.0, session, submission)
    (happening,) = happenings.take().happenings
    assert isinstance(happening, ClientSubmit)
    event: dict[str, Any] = json.loads(forms.submission(happening))
    return event


def _kinds() -> tuple[list[TaskKind], list[ObjectKind]]:
    plain = ObjectKind(KindId(_id(10)))
    rich = ObjectKind(
        KindId(_id(11)), "the words", "json", DataType.DIRECTORY, '{"owner": "me"}', 100
    )
    task_kinds = [
        TaskKind(
            KindId(_id(12)),
            "buildin/run",
            'my "program"',
            Resources.of({"cpus": 2, "gpus": 1}),
            ("left", ""),
            (plain.id, rich.id),
            '{"tag": [1, null]}',
        ),
        TaskKind(KindId(_id(13)), "py/"),
    ]
    return task_kinds, [plain, rich]


def test_a_submission_shows_specs_as_the_client_writes_them() -> None:
    task_kinds, object_kinds = _kinds()
    submission = Submission(
        SessionId(1),
        task_kinds,
        object_kinds,
        TaskColumns(
            [TaskId(_id(20)), TaskId(_id(23))],
            [task_kinds[0].id, task_kinds[1].id],
            [b'{"args": ["ls"], "deep": {"a": []}}', b"\x82\xa4args"],
            [2, 1],
            [ObjectId(_id(15)), ObjectId(_id(16)), ObjectId(_id(21))],
            [ObjectId(_id(21)), ObjectId(_id(22))],
        ),
        ConstantColumns(
            [ObjectId(_id(15)), ObjectId(_id(16))],
            [object_kinds[0].id, object_kinds[1].id],
            [b"a", b"b"],
        ),
    )

    event = _submitted(submission)

    first = TaskSpec(
        unpack(_id(20)),
        "buildin/run",
        {"args": ["ls"], "deep": {"a": []}},
        [TaskSpecInput(unpack(_id(15)), "left"), TaskSpecInput(unpack(_id(16)))],
        [unpack(_id(21)), unpack(_id(22))],
        {"cpus": 2, "gpus": 1},
        'my "program"',
        {"tag": [1, None]},
    )
    second = TaskSpec(
        unpack(_id(23)), "py/", None, [TaskSpecInput(unpack(_id(21)))], [], {"cpus": 1}
    )
    owner = {"owner": "me"}
    objects = [
        ObjectSpec(unpack(_id(15))),
        ObjectSpec(unpack(_id(16)), "the words", "json", "dir", owner),
        ObjectSpec(unpack(_id(21))),
        ObjectSpec(unpack(_id(22)), "the words", "json", "dir", owner),
    ]
    assert event == {
        "type": "ClientSubmit",
        "tasks": [first.to_json(), second.to_json()],
        "dataobjs": [spec.to_json() for spec in objects],
    }
    assert [TaskSpec.from_json(spec) for spec in event["tasks"]] == [first, second]


def test_a_config_that_is_no_json_appears_as_text_and_breaks_nothing() -> None:
    task_kinds, object_kinds = _kinds()
    kind = task_kinds[0].id
    outputs = [ObjectId(_id(number)) for number in range(30, 36)]
    configs = [b'{"a": NaN}', b'"], "type": "forged', b"[" * 100_000]
    submission = Submission(
        SessionId(1),
        task_kinds,
        object_kinds,
        TaskColumns(
            [TaskId(_id(20)), TaskId(_id(21)), TaskId(_id(22))],
            [kind] * 3,
            configs,
            [0] * 3,
            [],
            outputs,
        ),
    )

    event = _submitted(submission)

    assert [task["config"] for task in event["tasks"]] == [config.decode() for config in configs]


def test_infos_are_what_the_client_reads() -> None:
    notes = TaskNotes('{"a": 1}', "line\nline")
    info = forms.task_info("host:1", "2026-01-01T00:00:00.000+00:00", 0.25, "broke", notes)
    assert TaskInfo.from_json(json.loads(info)) == TaskInfo(
        "broke", "2026-01-01T00:00:00.000+00:00", 0.25, "host:1", {"a": 1}, "line\nline"
    )
    assert json.loads(forms.task_info("host:1")) == {"governor": "host:1"}

    made = forms.object_info(12, "text:utf-8", '{"b": 2}')
    assert ObjectInfo.from_json(json.loads(made)) == ObjectInfo("", 12, "text:utf-8", {"b": 2})
    spec = forms.session_spec("naïve", '{"c": 3}')
    assert SessionSpec.from_json(json.loads(spec)) == SessionSpec("naïve", {"c": 3})
    assert forms.session_spec("", "") == "{}"


@given(st.text() | st.binary())
def test_whatever_comes_from_outside_becomes_json_of_plain_letters(given_text: str | bytes) -> None:
    text = forms.embedded(given_text)

    json.loads(text)
    assert text.isascii()


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_json_from_outside_keeps_its_meaning(value: object) -> None:
    try:
        given_text = json.dumps(value, allow_nan=False)
    except ValueError:  # infinity is not JSON
        return
    assert json.loads(forms.embedded(given_text)) == value


@given(st.lists(st.floats(min_value=0, max_value=4e9), min_size=1))
def test_many_timestamps_are_the_same_as_single_ones(moments: list[float]) -> None:
    timestamps = forms.Timestamps()

    assert [timestamps.of(moment) for moment in moments] == [
        forms.timestamp(moment) for moment in moments
    ]
    assert len({len(timestamps.of(moment)) for moment in moments}) == 1
