"""Spec 1.6: keep, unkeep and fetch with a server that minds them."""

from typing import Any

import pytest

from rain.client import Client, RainException, Session, blob, directory, pickled, remote, tasks
from rain.client.rpc.common import DataObjectState
from tests.compat.running import held, results

pytestmark = pytest.mark.whole


def test_a_kept_constant_is_fetched(session: Session) -> None:
    small, large, folder = blob("small"), blob(bytes(300_000)), directory({"a": "1"})
    session.keep_all()
    session.submit()

    assert small.fetch().get_bytes() == b"small"
    assert small.fetch().load() == "small"
    assert large.fetch().get_bytes() == bytes(300_000)
    assert folder.fetch().get_bytes()
    assert small.state is DataObjectState.finished
    assert small.info is not None
    assert small.info.size == 5


def test_fetching_waits_and_fills_the_info(session: Session) -> None:
    task = tasks.Sleep(pickled([1]), 0.1)
    task.output.keep()
    session.submit()
    assert task.output.info is None

    assert task.output.fetch().load() == [1]

    assert task.output.info is not None
    assert task.output.state is DataObjectState.finished


def test_unkeep_lets_data_go_when_nobody_needs_it(client: Client, session: Session) -> None:
    task = tasks.Concat([blob(bytes(100_000))])
    consumer = tasks.Sleep(task, 0.2)
    session.keep_all()
    session.submit()
    task.wait()

    task.output.unkeep()
    assert task.output.id in held(client)  # the consumer still reads it
    consumer.wait()

    assert task.output.id not in held(client)
    task.output.update()
    assert task.output.state is DataObjectState.removed
    assert consumer.output.fetch().get_bytes() == bytes(100_000)
    with pytest.raises(RainException, match="not kept"):
        task.output.fetch()


def test_unkeep_before_submit_is_only_a_flag(session: Session) -> None:
    constant = blob("x")
    constant.keep()
    assert constant.is_kept()
    constant.unkeep()
    assert not constant.is_kept()
    with pytest.raises(RainException, match="not kept"):
        constant.unkeep()
    session.submit()

    with pytest.raises(RainException, match="already submitted"):
        constant.keep()
    with pytest.raises(TypeError):
        session.unkeep([tasks.Concat([])])  # type: ignore[list-item] # pyright: ignore[reportArgumentType] # is refused


def test_the_content_type_is_what_the_task_found(session: Session) -> None:
    @remote()
    def found(ctx: Any) -> Any:
        return ctx.blob([1], encode="json")

    task = found()
    task.output.keep()
    session.submit()
    assert task.output.content_type is None

    instance = task.output.fetch()

    assert instance.load() == [1]
    assert task.output.content_type == "json"


def test_a_constant_may_be_read_many_times_by_one_task(session: Session) -> None:
    constant = blob("x")

    assert results(tasks.Concat([constant, constant, constant]))[0].get_bytes() == b"xxx"
