"""How many descriptors processes of tasks may have: the default, what is told, what is refused."""

from __future__ import annotations

import resource
import subprocess

import pytest

from rain.base.errors import StartError
from rain.governor.descriptors import TASK_DESCRIPTORS, Descriptors

INFINITE = resource.RLIM_INFINITY


@pytest.mark.parametrize(
    ("own", "hard", "told", "expected"),
    [
        (1024, 4096, None, Descriptors(4096)),
        (1024, 1_000_000, None, Descriptors(TASK_DESCRIPTORS)),
        (1024, INFINITE, None, Descriptors(TASK_DESCRIPTORS)),
        (200_000, 1_000_000, None, Descriptors(200_000)),  # somebody wants it so
        (1024, 4096, 256, Descriptors(256, is_told=True)),
        (1024, INFINITE, 500_000, Descriptors(500_000, is_told=True)),
    ],
)
def test_it_is_what_was_told_or_much_if_the_system_allows_that(
    monkeypatch: pytest.MonkeyPatch, own: int, hard: int, told: int | None, expected: Descriptors
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (own, hard))
    assert Descriptors.read(told) == expected


def test_more_than_the_system_allows_is_refused_with_the_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 4096))
    with pytest.raises(StartError, match=r"--task-descriptors 5000: the system allows 4096 "):
        Descriptors.read(5000)


@pytest.mark.parametrize(
    ("own", "most", "raised"),
    [(1024, 4096, [(4096, 9000)]), (4096, 1024, []), (INFINITE, 4096, [])],
)
def test_the_own_limit_of_the_governor_is_only_raised(
    monkeypatch: pytest.MonkeyPatch, own: int, most: int, raised: list[tuple[int, int]]
) -> None:
    set_to: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (own, 9000))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: set_to.append(limits))
    Descriptors(most).raise_own()
    assert set_to == raised


def test_a_process_gets_a_limit_that_it_cannot_raise_only_if_that_was_told() -> None:
    with subprocess.Popen(["sleep", "100"]) as process:
        before = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
        Descriptors(100).bound(process.pid)
        assert resource.prlimit(process.pid, resource.RLIMIT_NOFILE) == before
        Descriptors(100, is_told=True).bound(process.pid)
        assert resource.prlimit(process.pid, resource.RLIMIT_NOFILE) == (100, 100)
        process.kill()
    Descriptors(100, is_told=True).bound(process.pid)  # it has ended
