"""Chains of short functions, which run behind each other in one executor."""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import Any

import pytest

from rain.client import Client, Output, Session, TaskException, remote

pytestmark = pytest.mark.whole


@remote(outputs=[Output(encode="pickle")], auto_load=True)
def step(ctx: Any, value: int, number: int) -> int:
    """One more; some numbers are bad."""
    if number == 40:
        raise ValueError("the fortieth link breaks")
    if number == -40:
        os._exit(3)
    return value + 1


@pytest.fixture(scope="module")
def client() -> Generator[Client, None, None]:
    with Client(cpus=1) as client:
        yield client


@pytest.fixture
def session(client: Client) -> Generator[Session, None, None]:
    with client.new_session("chains") as session:
        # From now on the governor knows how short such a task is.
        step(0, 0)
        session.submit()
        session.wait_all()
        yield session


def chain(numbers: range) -> list[Any]:
    tasks = [step(0, numbers[0])]
    for number in numbers[1:]:
        tasks.append(step(tasks[-1].output, number))
    return tasks


def test_all_results_that_are_kept_are_there(session: Session) -> None:
    tasks = chain(range(100, 400))
    kept = tasks[::50]
    for task in kept:
        task.output.keep()
    session.submit()
    session.wait_all()
    assert [task.output.fetch().load() for task in kept] == [1, 51, 101, 151, 201, 251]


def test_a_failure_in_the_middle_names_its_own_task(session: Session) -> None:
    tasks = chain(range(100))
    session.submit()
    with pytest.raises(TaskException, match="the fortieth link breaks") as caught:
        session.wait_all()
    assert f"{tasks[40].id.id}" in str(caught.value)


def test_the_end_of_the_executor_in_the_middle_fails_the_task_that_it_ran(
    session: Session,
) -> None:
    tasks = chain(range(-100, 0))
    session.submit()
    with pytest.raises(TaskException, match="exit code 3") as caught:
        session.wait_all()
    assert f"{tasks[60].id.id}" in str(caught.value)
