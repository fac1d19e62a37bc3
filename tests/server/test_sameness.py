"""Which tasks of two runs are the same: by function, arguments and inputs."""

from __future__ import annotations

import msgpack

from rain.base.ids import ObjectId, TaskId
from rain.base.states import TaskRow
from rain.base.units import BEFORE, UNIT
from rain.base.wire import INLINE_LIMIT
from rain.common.sameness import place_of
from rain.graph.standing_in import stands_in
from rain.server.core.messages import Refuse
from tests.support.families import (
    Family,
    executor_died,
    governor_lost,
    lost_after,
    next_run,
)
from tests.support.submissions import Draft
from tests.support.world import CLUSTER


def test_futures_inside_of_arguments_are_compared_by_what_makes_them() -> None:
    # given: two tasks, and a task that was told where both are
    family = Family()

    def total(draft: Draft, *configs: bytes) -> TaskId:
        made = [family.submit(draft, config)[1] for config in configs]
        places = [place_of(CLUSTER, one) for one in made]
        task, _ = family.submit(draft, b"total of " + b" and ".join(places))
        draft.contain(task, *made)
        return task

    first = total(family.draft, b"one", b"other")
    family.client.submit(family.draft)
    family.finish(first, b"3")

    # when
    client, draft = next_run(family)
    draft.task(config=b"something else")  # so that all have other numbers
    swapped = total(draft, b"other", b"one")
    again = total(draft, b"one", b"other")
    client.submit(draft)

    # then
    assert family.row(again) is TaskRow.FINISHED
    assert family.row(swapped) is not TaskRow.FINISHED


def test_a_constant_with_futures_inside_is_compared_by_what_makes_these() -> None:
    family = Family()

    def read(draft: Draft, config: bytes) -> TaskId:
        _, made = family.submit(draft, config)
        inner = draft.constant(place_of(CLUSTER, made), keep=True)
        draft.contain(inner, made)
        box = draft.constant(place_of(CLUSTER, inner), keep=True)
        draft.contain(box, inner)
        return family.submit(draft, b"read", box)[0]

    first = read(family.draft, b"one")
    family.client.submit(family.draft)
    family.finish(first, b"1")
    client, draft = next_run(family)
    other, again = read(draft, b"other"), read(draft, b"one")
    client.submit(draft)
    assert family.row(again) is TaskRow.FINISHED
    assert family.row(other) is not TaskRow.FINISHED


def test_large_constants_are_compared_by_what_their_clients_have_told() -> None:
    family = Family()
    data = bytes(INLINE_LIMIT + 1)
    given = family.draft.constant(data, keep=True, digest=b"the same")
    first, _ = family.submit(family.draft, b"read", given)
    family.client.submit(family.draft)
    family.finish(first, b"1")
    client, draft = next_run(family)
    chosen = [draft.constant(data, digest=digest) for digest in (b"", b"another", b"the same")]
    silent, other, again = [family.submit(draft, b"read", one)[0] for one in chosen]
    client.submit(draft)
    assert family.row(again) is TaskRow.FINISHED
    assert TaskRow.FINISHED not in {family.row(silent), family.row(other)}


def test_a_digest_of_anything_but_a_new_file_is_refused() -> None:
    family = Family()
    small = family.draft.constant(b"small")
    family.draft.submission.digests.ids.append(small)
    family.draft.submission.digests.digests.append(b"digest")
    refused = family.client.submit(family.draft)
    assert isinstance(refused, Refuse)
    assert "has a digest, but no file" in str(refused.reason)


def test_what_is_not_the_same_is_made() -> None:
    family = Family()
    client, draft = lost_after(family, (b"first", b"1"))
    other, _ = family.submit(draft, b"other")
    two, _ = draft.task(config=b"first", outputs=2)
    client.submit(draft)
    assert TaskRow.FINISHED not in {family.row(other), family.row(two)}


def test_what_reads_another_constant_is_made() -> None:
    family = Family()
    given = family.draft.constant(b"old", keep=True)
    task, _ = family.submit(family.draft, b"f", given)
    family.client.submit(family.draft)
    family.finish(task, b"of old")
    governor_lost(family)
    family.s.world.turn()
    client, draft = family.begin(1)
    new, _ = family.submit(draft, b"f", draft.constant(b"new"))
    old, made = family.submit(draft, b"f", draft.constant(b"old"))
    client.submit(draft)
    assert family.row(new) is not TaskRow.FINISHED
    assert (family.row(old), family.data(made)) == (TaskRow.FINISHED, b"of old")


def test_equal_tasks_have_results_of_their_own_in_their_order() -> None:
    family = Family()
    client, draft = lost_after(family, (b"draw", b"1"), (b"draw", b"2"))
    drawn = [family.submit(draft, b"draw") for _ in range(3)]
    client.submit(draft)
    assert [family.data(made) for _, made in drawn] == [b"1", b"2", None]


def test_a_task_with_several_outputs_is_found_with_all_of_them() -> None:
    family = Family()
    family.draft.task(outputs=2, keep=True, config=b"both")
    family.client.submit(family.draft)
    client, draft = next_run(family)
    task, _ = draft.task(outputs=2, keep=True, config=b"both")
    client.submit(draft)
    assert stands_in(family.s.world.task(task))


def test_what_reads_an_object_of_another_session_is_the_same_for_the_same_object() -> None:
    family = Family()
    source, (given,) = family.s.draft.task(keep=True, config=b"source")
    other, (stranger,) = family.s.draft.task(keep=True, config=b"source")
    family.s.submit()
    family.submit(family.draft, b"f", given)
    family.client.submit(family.draft)
    client, draft = next_run(family)
    first, _ = family.submit(draft, b"f", stranger)
    second, _ = family.submit(draft, b"f", given)
    client.submit(draft)
    assert not stands_in(family.s.world.task(first))
    assert stands_in(family.s.world.task(second))
    assert family.row(source) is family.row(other) is TaskRow.READY


def a_unit(draft: Draft, *calls: bytes, bad: bytes = b"") -> tuple[TaskId, ObjectId]:
    """A fused chain of these calls, whose inner tasks and objects have ids of their own."""
    rows: list[list[object]] = []
    for place in range(len(calls)):
        before = [BEFORE] if place else []
        rows.append([draft.next_id(), 0, place, before, [draft.next_id()]])
    described = {"kinds": [], "objects": [], "configs": [*calls], "calls": rows}
    config = bad or msgpack.packb(described)
    task, (made,) = draft.task(config=config, keep=True, task_type=UNIT)
    return task, made


def test_a_fused_chain_is_the_same_whatever_the_ids_inside_of_it() -> None:
    # given
    family = Family()
    finished, _ = a_unit(family.draft, b"one", b"two")
    nonsense, _ = a_unit(family.draft, bad=b"\xc1")
    family.client.submit(family.draft)
    family.finish(finished, b"made of both")
    family.finish(nonsense, b"made of nonsense")

    # when
    executor_died(family)
    family.s.world.turn()
    client, draft = family.begin(1)
    other, _ = a_unit(draft, b"one", b"three")
    same, made = a_unit(draft, b"one", b"two")
    again, _ = a_unit(draft, bad=b"\xc1")
    longer, _ = a_unit(draft, b"one", b"two", b"two")
    client.submit(draft)

    # then
    assert [family.row(task) is TaskRow.FINISHED for task in (other, same, again, longer)] == [
        False,
        True,
        True,
        False,
    ]
    assert family.data(made) == b"made of both"
