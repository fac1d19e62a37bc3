"""Submissions of a client: whole, once, and refused whole."""

import pytest
from attrs import evolve

from rain.base.errors import ConnectionLostError, RefusedError
from rain.base.ids import KindId, ObjectId, TaskId, pack
from rain.base.kinds import ObjectKind, TaskKind
from rain.base.wire.answers import WaitAnswer
from rain.base.wire.requests import Fetch, OpenSession, Submit, WaitFor
from rain.base.wire.submission import (
    ConstantColumns,
    ContentColumns,
    DigestColumns,
    KeyColumns,
    Submission,
    TaskColumns,
)
from rain.rpc import client_submit
from rain.rpc.client_endpoint import ClientConnection
from rain.rpc.codec.submission import SubmitPart
from tests.rpc.client_scenes import OBJECT, SESSION, play
from tests.rpc.fakes import FakeServer


def large_submission() -> Submission:
    """More tasks than one message holds, constants of many lengths, some uploaded ahead."""
    count = 40_000
    kinds = [TaskKind(KindId(pack(1, 11)), "py/", outputs=(KindId(pack(1, 12)),))]
    numbers = range(1000, 1000 + count)
    constants = [b"", b"small", bytes(3_000_000), bytes(range(256)) * 20_000, bytes(1 << 20)]
    return Submission(
        SESSION,
        task_kinds=kinds,
        object_kinds=[ObjectKind(KindId(pack(1, 12)))],
        tasks=TaskColumns(
            ids=[TaskId(pack(1, number)) for number in numbers],
            kinds=[kinds[0].id] * count,
            configs=[number.to_bytes(60, "little") for number in numbers],
            input_counts=[number % 3 for number in numbers],
            inputs=[ObjectId(number) for number in range(sum(number % 3 for number in numbers))],
            outputs=[ObjectId(pack(1, number + count)) for number in numbers],
        ),
        constants=ConstantColumns(
            ids=[ObjectId(pack(1, 20 + place)) for place in range(len(constants))],
            kinds=[KindId(pack(1, 12))] * len(constants),
            data=constants,
        ),
        kept=[OBJECT],
        contents=ContentColumns([pack(1, 22)], [2], [OBJECT, ObjectId(pack(1, 21))]),
        digests=DigestColumns([ObjectId(pack(1, 22))], [b"digest"]),
    )


def test_a_large_submission_arrives_whole_and_once() -> None:
    submission = large_submission()
    server = play(lambda client: client.ask(Submit(submission)))
    ((arrived,),) = server.journal.named("submit")
    constants = submission.constants
    assert arrived.constants.sizes == [len(data) for data in constants.data]
    # What is large went ahead, into files
    assert [
        data or (server.uploads.data(object_id) if size else b"")
        for object_id, data, size in zip(
            arrived.constants.ids, arrived.constants.data, arrived.constants.sizes, strict=True
        )
    ] == constants.data
    assert [len(data) for data in arrived.constants.data] == [0, 5, 0, 0, 0]
    arrived.constants = constants
    assert arrived == submission


def test_a_submission_over_the_bound_is_refused_whole_and_the_next_one_is_taken() -> None:
    def scene(client: ClientConnection) -> None:
        with pytest.raises(RefusedError, match="larger than 400000 bytes"):
            client.ask(Submit(large_submission()))
        client.ask(Submit(Submission(SESSION, kept=[OBJECT])))

    server = play(scene, pending_limit=400_000)
    assert server.journal.named("submit") == [(Submission(SESSION, kept=[OBJECT]),)]


def test_text_that_cannot_be_sent_is_refused_and_leaves_nothing_behind() -> None:
    def scene(client: ClientConnection) -> None:
        bad = large_submission()
        bad.object_kinds = [ObjectKind(KindId(1), "half \udce9")]
        with pytest.raises(RefusedError, match="not UTF-8"):
            client.ask(Submit(bad))
        client.ask(Submit(Submission(SESSION)))

    assert play(scene).journal.named("submit") == [(Submission(SESSION),)]


def test_a_kind_that_no_server_would_take_is_refused_by_name_and_leaves_nothing_behind() -> None:
    def scene(client: ClientConnection) -> None:
        bad = large_submission()
        bad.object_kinds = [ObjectKind(KindId(1), size_hint=-1)]
        with pytest.raises(RefusedError, match="cannot be sent: its size hint: -1 is not from 0"):
            client.ask(Submit(bad))
        client.ask(Submit(Submission(SESSION)))

    assert play(scene).journal.named("submit") == [(Submission(SESSION),)]


def test_a_kind_over_the_limit_of_a_message_is_refused_by_name() -> None:
    kind = ObjectKind(KindId(1), user="x" * 70_000_000)

    def scene(client: ClientConnection) -> None:
        with pytest.raises(RefusedError, match="bytes in one message; the limit is 67108864"):
            client.ask(Submit(Submission(SESSION, object_kinds=[kind])))

    play(scene)


def test_many_megabytes_of_kinds_arrive_whole() -> None:
    kinds = [ObjectKind(KindId(pack(1, n)), user="x" * 1_000_000) for n in range(80)]
    submission = Submission(SESSION, object_kinds=kinds)
    assert play(lambda client: client.ask(Submit(submission))).journal.named("submit") == [
        (submission,)
    ]


def test_a_config_over_the_limit_of_a_message_is_refused_by_name() -> None:
    tasks = TaskColumns([TaskId(OBJECT)], [KindId(1)], [bytes(70_000_000)], [0], [], [])

    def scene(client: ClientConnection) -> None:
        with pytest.raises(RefusedError, match="pass large data as constants"):
            client.ask(Submit(Submission(SESSION, tasks=tasks)))

    play(scene)


def test_a_wait_leaves_together_with_the_submission_before_it() -> None:
    def scene(client: ClientConnection) -> None:
        client.say(Submit(large_submission()))
        client.ask(WaitFor(SESSION, (), (), "session"))

    entries = play(scene).journal.entries
    assert [entry[0] for entry in entries] == ["client joined", "submit", "wait", "client left"]


def test_the_refusal_of_a_submission_that_nobody_waited_for_is_told_by_the_next_call() -> None:
    def scene(client: ClientConnection) -> None:
        client.say(Submit(Submission(SESSION)))
        with pytest.raises(RefusedError, match="two producers"):
            client.ask(WaitFor(SESSION, (), (), "session"))
        client.say(Submit(Submission(SESSION)))
        client.ask(OpenSession("another"))
        with pytest.raises(RefusedError, match="two producers"):
            client.ask(Submit(Submission(SESSION)))
        client.complete(client.ask(Fetch(ObjectId(pack(2, 10)))))

    def prepare(server: FakeServer) -> None:
        server.data[ObjectId(pack(2, 10))] = b"x"
        server.rules["submit"] = lambda reply: reply.refuse("two producers")
        server.rules["wait"] = lambda reply: reply.refuse("unknown task")

    play(scene, prepare)


def test_a_submission_and_a_wait_for_what_it_makes_are_one_call() -> None:
    answers: list[WaitAnswer | None] = []

    def scene(client: ClientConnection) -> None:
        answers.append(client.begin(Submit(Submission(SESSION), (OBJECT,)))())

    server = play(scene)

    assert server.journal.named("compute") == [(Submission(SESSION), [OBJECT])]
    assert [entry[0] for entry in server.journal.entries] == [
        "client joined",
        "compute",
        "client left",
    ]
    assert answers == [WaitAnswer([], [OBJECT])]


def without_uploads(submission: Submission) -> Submission:
    return evolve(submission, constants=ConstantColumns())


def test_what_does_not_fit_into_one_message_is_waited_for_as_well() -> None:
    submission = without_uploads(large_submission())

    def scene(client: ClientConnection) -> None:
        client.begin(Submit(submission, (OBJECT,)))()

    assert play(scene).journal.named("compute") == [(submission, [OBJECT])]


@pytest.mark.parametrize("uploads", [True, False])
def test_a_wait_for_nothing_or_for_what_needs_uploads_is_a_request_of_its_own(
    uploads: bool,
) -> None:
    def scene(client: ClientConnection) -> None:
        submission = large_submission() if uploads else Submission(SESSION)
        client.begin(Submit(submission, (OBJECT,) if uploads else ()))()

    entries = play(scene).journal.entries
    assert [entry[0] for entry in entries] == ["client joined", "submit", "wait", "client left"]


def test_what_belongs_to_a_large_constant_goes_along_though_its_bytes_went_ahead() -> None:
    submission = large_submission()
    holder = submission.constants.ids[0]
    submission.contents = ContentColumns([holder], [1], [OBJECT])
    submission.keys = KeyColumns([holder], [b"key"], [0], [])

    def scene(client: ClientConnection) -> None:
        client.ask(Submit(submission))

    ((told,),) = play(scene).journal.named("submit")
    assert told.contents == submission.contents
    assert told.keys == submission.keys


def test_a_server_takes_no_uploads_for_what_is_answered_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # given: a client that does not keep to that
    def wanting(part: Submission, uploaded: list[ObjectId], last: bool, _: object) -> SubmitPart:
        return SubmitPart(part, uploaded, last, [OBJECT])

    monkeypatch.setattr(client_submit, "SubmitPart", wanting)

    def scene(client: ClientConnection) -> None:
        with pytest.raises(ConnectionLostError, match="uploads is answered when it is accepted"):
            client.ask(Submit(large_submission()))

    # when / then
    assert play(scene).journal.named("compute") == []


def test_the_refusal_of_a_submission_is_what_its_wait_raises() -> None:
    def scene(client: ClientConnection) -> None:
        for _ in range(2):
            with pytest.raises(RefusedError, match="two producers"):
                client.begin(Submit(Submission(SESSION), (OBJECT,)))()

    def prepare(server: FakeServer) -> None:
        server.rules["compute"] = lambda reply: reply.refuse("two producers")

    play(scene, prepare)


def test_nothing_is_sent_to_a_session_whose_last_submission_has_failed() -> None:
    def scene(client: ClientConnection) -> None:
        client.say(Submit(Submission(SESSION)))
        client.ask(OpenSession("another"))  # its answer comes after the refusal
        with pytest.raises(RefusedError, match="two producers"):
            client.begin(Submit(Submission(SESSION), (OBJECT,)))

    def prepare(server: FakeServer) -> None:
        server.rules["submit"] = lambda reply: reply.refuse("two producers")

    assert len(play(scene, prepare).journal.named("submit")) == 1


def test_nothing_remains_of_computations_that_are_over() -> None:
    def scene(client: ClientConnection) -> None:
        for _ in range(5):
            client.begin(Submit(Submission(SESSION), (OBJECT,)))()
        assert not client.is_waited_for

    play(scene)
