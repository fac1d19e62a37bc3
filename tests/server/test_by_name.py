"""What a durable session has made is there for the next one who opens its name."""

from __future__ import annotations

from attrs import define

from rain.base.failures import OnFailure, SessionFailure
from rain.base.ids import ObjectId, TaskId
from rain.base.states import ObjectState, TaskRow
from rain.base.wire.answers import WaitAnswer
from rain.graph.standing_in import stands_in
from rain.server.core.messages import Answered, Granted, Refuse
from tests.support.fake_client import FakeClient
from tests.support.fake_governor import FakeGovernor
from tests.support.scenes import Scene, scene
from tests.support.submissions import Draft


@define(eq=False)
class Program:
    """A client that has opened a durable session, and what it has submitted."""

    s: Scene
    client: FakeClient
    draft: Draft

    def call(self, config: bytes, *inputs: ObjectId) -> tuple[TaskId, ObjectId]:
        task, (made,) = self.draft.task(*inputs, config=config, keep=True)
        return task, made

    def submit(self) -> None:
        assert isinstance(self.client.submit(self.draft), Granted)

    def leave(self) -> None:
        self.client.leave()
        self.s.world.turn()

    def row(self, task: TaskId) -> TaskRow:
        return self.s.world.task(task).row

    def data(self, made: ObjectId) -> bytes | None:
        return self.s.world.object(made).data

    def at(self, task: TaskId) -> FakeGovernor:
        """The governor that has a task, once it is planned."""
        if not any(task in one.tasks for one in self.s.governors):
            self.s.assign(task)
        (at,) = [one for one in self.s.governors if task in one.tasks]
        at.locate(*at.fetching())
        return at

    def finish(self, task: TaskId, data: bytes = b"made") -> None:
        self.at(task).finish(task, data=data)


def begin(s: Scene, name: str = "sweep") -> Program:
    client = s.world.client()
    return Program(s, client, client.session(name, OnFailure.CONTINUE, durable=True))


def started() -> Program:
    return begin(scene(4, 4))


def test_a_program_that_runs_again_has_the_results_of_the_first() -> None:
    # given: one call has finished and one has not when the client leaves
    friday = started()
    first, a = friday.call(b"first")
    second, _ = friday.call(b"second", a)
    friday.submit()
    friday.finish(first, b"1")
    friday.leave()
    assert friday.row(second) is not TaskRow.FINISHED
    friday.finish(second, b"2")

    # when
    monday = begin(friday.s)
    first, a = monday.call(b"first")
    second, b = monday.call(b"second", a)
    monday.submit()

    # then
    assert [monday.row(first), monday.row(second)] == [TaskRow.FINISHED] * 2
    answer = friday.s.world.answers[monday.client.wait(monday.draft.session, first, second)]
    assert isinstance(answer, Answered)
    assert isinstance(answer.answer, WaitAnswer)
    assert answer.answer.delivery.data == [b"1", b"2"]
    assert monday.data(b) == b"2"


def test_two_programs_that_run_at_a_time_share_what_is_on_its_way() -> None:
    one = started()
    other = begin(one.s)
    task, _ = one.call(b"f")
    one.submit()
    same, made = other.call(b"f")
    other.submit()
    assert stands_in(one.s.world.task(same))
    one.finish(task, b"made")
    other.s.world.turn()
    other.finish(same, b"made")
    assert other.data(made) == b"made"


def test_of_equal_calls_each_stands_in_for_one_of_its_own() -> None:
    friday = started()
    drawn = [friday.call(b"draw") for _ in range(2)]
    friday.submit()
    for place, (task, _) in enumerate(drawn):
        friday.finish(task, b"%d" % place)
    friday.leave()
    monday = begin(friday.s)
    again = [monday.call(b"draw") for _ in range(3)]
    monday.submit()
    assert [monday.data(made) for _, made in again] == [b"0", b"1", None]


def test_a_call_that_is_made_twice_by_one_program_runs_twice() -> None:
    program = started()
    task, _ = program.call(b"draw")
    program.submit()
    program.finish(task, b"1")
    again, _ = program.call(b"draw")
    program.submit()
    assert program.row(again) is not TaskRow.FINISHED


def test_what_has_failed_is_made_again() -> None:
    friday = started()
    task, _ = friday.call(b"f")
    friday.submit()
    friday.at(task).fail(task)
    friday.leave()
    monday = begin(friday.s)
    again, made = monday.call(b"f")
    monday.submit()
    assert not stands_in(friday.s.world.task(again))
    monday.finish(again, b"made")
    assert monday.data(made) == b"made"
    assert [one.id for one in monday.client.by_name("sweep")] == [again]


def test_what_another_program_waits_for_is_not_cancelled_with_the_first() -> None:
    one = started()
    other = begin(one.s)
    task, _ = one.call(b"f")
    one.submit()
    other.call(b"f")
    other.submit()
    one.client.cancel(one.draft.session, task, always=True)
    assert not one.s.world.task(task).has_failed
    other.leave()
    one.client.cancel(one.draft.session, task, always=True)
    assert one.s.world.task(task).has_failed


def test_keys_of_clients_are_what_counts() -> None:
    # given: a call whose function was pickled in another way, and what reads it
    friday = started()
    task, a = friday.call(b"pickled on Friday")
    friday.draft.key(task, b"f(1)")
    reader, _ = friday.call(b"reads", a)
    friday.draft.key(reader, b"g", a)
    other, _ = friday.call(b"the same config")
    friday.draft.key(other, b"h(1)")
    friday.submit()
    for one in (task, reader, other):
        friday.finish(one, b"made")
    friday.leave()

    # when
    monday = begin(friday.s)
    task, a = monday.call(b"pickled on Monday")
    monday.draft.key(task, b"f(1)")
    reader, _ = monday.call(b"reads", a)
    monday.draft.key(reader, b"g", a)
    other, _ = monday.call(b"the same config")
    monday.draft.key(other, b"h(2)")
    monday.submit()

    # then
    assert [monday.row(one) is TaskRow.FINISHED for one in (task, reader, other)] == [
        True,
        True,
        False,
    ]


def test_what_reads_a_large_constant_with_a_key_is_the_same() -> None:
    large = b"x" * 20_000

    def call(program: Program, key: bytes) -> TaskId:
        given = program.draft.constant(large)
        program.draft.key(given, key)
        task, _ = program.call(b"f", given)
        program.submit()
        return task

    friday = started()
    friday.finish(call(friday, b"old"), b"made")
    friday.leave()
    monday = begin(friday.s)
    assert monday.row(call(monday, b"old")) is TaskRow.FINISHED
    assert monday.row(call(monday, b"new")) is not TaskRow.FINISHED


def test_what_cannot_be_compared_goes_on_without_its_client() -> None:
    friday = started()
    given = friday.draft.constant(b"x" * 20_000)
    task, made = friday.call(b"f", given)
    alone, _ = friday.draft.task(config=b"writes a file", outputs=0)
    friday.submit()
    friday.leave()
    friday.finish(task, b"made")
    friday.at(alone).finish(alone)
    assert friday.data(made) == b"made"
    monday = begin(friday.s)
    assert [one.objects for one in monday.client.by_name("sweep")] == [(made,)]


def test_results_can_be_had_by_the_name_alone() -> None:
    friday = started()
    task, made = friday.call(b"f")
    failing, lost = friday.call(b"g")
    friday.submit()
    friday.finish(task, b"made")
    friday.at(failing).fail(failing, message="it was in vain")
    friday.leave()
    client = friday.s.world.client()
    assert [one.objects for one in client.by_name("sweep")] == [(made,), (lost,)]
    client.take(made, lost, keep=True)
    fetched = friday.s.world.answers[client.fetch(lost)]
    assert isinstance(fetched, Refuse)
    assert isinstance(fetched.reason, SessionFailure)
    assert "it was in vain" in fetched.reason.message


def test_they_are_told_in_numbers() -> None:
    friday = started()
    task, _ = friday.call(b"f")
    friday.call(b"g")
    friday.submit()
    friday.finish(task, b"made")
    (told,) = friday.client.durable()
    assert (told.name, told.clients, told.tasks, told.finished, told.failed) == (
        "sweep",
        1,
        2,
        1,
        0,
    )
    friday.leave()
    (told,) = friday.s.client.durable()
    assert (told.clients, told.tasks) == (0, 2)


def test_what_is_removed_ends_and_leaves_nothing() -> None:
    friday = started()
    done, made = friday.call(b"f")
    running, _ = friday.call(b"g")
    friday.draft.task(config=b"writes a file", outputs=0)
    friday.submit()
    friday.finish(done, b"made")
    at = friday.at(running)
    at.start(running)
    session = friday.draft.session
    friday.leave()
    client = friday.s.client
    assert isinstance(client.remove("sweep"), Granted)
    graph = friday.s.world.state.graph
    at.end(running)
    for _ in range(3):
        friday.s.world.turn()
    assert session not in graph.sessions
    assert made not in graph.objects
    assert not graph.held
    refused = client.remove("sweep")
    assert isinstance(refused, Refuse)
    assert refused.reason == "there is no durable session 'sweep'; there is none at all"


def test_who_has_a_session_open_that_is_removed_keeps_what_is_his() -> None:
    program = started()
    task, made = program.call(b"f")
    program.submit()
    program.client.remove("sweep")
    program.finish(task, b"made")
    assert program.s.world.object(made).state is ObjectState.FINISHED
    program.leave()
    assert not program.s.world.state.graph.held


def test_what_others_wait_for_goes_on_when_the_session_is_removed_that_makes_it() -> None:
    # given: a call for two programs, of which the first has gone, and one that nobody waits for
    one = started()
    other = begin(one.s)
    task, _ = one.call(b"f")
    effect, _ = one.draft.task(config=b"writes a file", outputs=0)
    one.submit()
    same, made = other.call(b"f")
    other.submit()
    one.leave()
    # when
    other.client.remove("sweep")
    # then
    assert effect not in one.s.world.state.graph.tasks
    one.finish(task, b"made")
    one.s.world.turn()
    other.finish(same, b"made")
    assert other.data(made) == b"made"


def test_a_name_is_its_own() -> None:
    one = started()
    task, _ = one.call(b"f")
    one.submit()
    one.finish(task, b"1")
    other = begin(one.s, "another")
    same, _ = other.call(b"f")
    other.submit()
    assert other.row(same) is not TaskRow.FINISHED


def test_a_call_that_only_its_own_program_reads_can_be_cancelled() -> None:
    one = started()
    task, made = one.call(b"f")
    reader, _ = one.call(b"g", made)
    one.submit()
    one.client.cancel(one.draft.session, task, always=True)
    assert one.row(task) is TaskRow.CANCELLED
    assert one.row(reader) is not TaskRow.READY


def test_what_cannot_be_durable_is_refused() -> None:
    s = scene(4)
    client = s.world.client()
    for name, on_failure, why in [
        ("", OnFailure.CONTINUE, "has 1 to 200 letters, not 0"),
        ("x" * 201, OnFailure.CONTINUE, "has 1 to 200 letters, not 201"),
        ("sweep", OnFailure.STOP, "goes on after failures"),
    ]:
        refused = client.ask_open(name, on_failure)
        assert isinstance(refused, Refuse)
        assert why in str(refused.reason)
    assert not s.world.state.durable.by_name
