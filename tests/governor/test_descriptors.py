"""How many descriptors processes of tasks may have: the default, what is told, what is refused."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

from rain.base.errors import StartError
from rain.governor.machine.descriptors import LEAST, TASK_DESCRIPTORS, Descriptors

INFINITE = resource.RLIM_INFINITY


@pytest.mark.parametrize(
    ("own", "hard", "told", "expected"),
    [
        (1024, 4096, None, Descriptors(4096)),
        (1024, 1_000_000, None, Descriptors(TASK_DESCRIPTORS)),
        (1024, INFINITE, None, Descriptors(TASK_DESCRIPTORS)),
        (200_000, 1_000_000, None, Descriptors(200_000)),  # somebody wants it so
        (1024, 4096, 256, Descriptors(256, is_given=True)),
        (1024, INFINITE, 500_000, Descriptors(500_000, is_given=True)),
    ],
)
def test_it_is_what_was_told_or_much_if_the_system_allows_that(
    own: int, hard: int, told: int | None, expected: Descriptors
) -> None:
    assert Descriptors.within(told, own, hard) == expected


def test_more_than_the_system_allows_is_refused_with_the_number() -> None:
    with pytest.raises(StartError, match=r"--task-descriptors 5000: the system allows 4096 "):
        Descriptors.within(5000, 1024, 4096)


def test_too_few_to_run_any_task_are_refused_with_what_to_do() -> None:
    with pytest.raises(StartError) as refused:
        Descriptors.within(None, LEAST - 1, LEAST - 1)
    assert str(refused.value) == (
        "the system allows 63 open files for each process of this user, and a governor needs at"
        " least 64: start it with a higher limit (ulimit -n)"
    )
    assert Descriptors.within(None, 32, LEAST) == Descriptors(LEAST)


RAISES = """
import resource, sys
from rain.governor.machine.descriptors import Descriptors
resource.setrlimit(resource.RLIMIT_NOFILE, (200, 300))
Descriptors(int(sys.argv[1])).raise_own()
print(*resource.getrlimit(resource.RLIMIT_NOFILE))
"""


@pytest.mark.parametrize(("most", "limits"), [(250, "250 300"), (100, "200 300")])
def test_the_own_limit_of_the_governor_is_only_raised(most: int, limits: str) -> None:
    told = subprocess.check_output([sys.executable, "-c", RAISES, str(most)], text=True)
    assert told.strip() == limits


def test_a_process_gets_a_limit_that_it_cannot_raise_only_if_that_was_told() -> None:
    with subprocess.Popen(["sleep", "100"]) as process:
        before = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
        Descriptors(100).bound(process.pid)
        assert resource.prlimit(process.pid, resource.RLIMIT_NOFILE) == before
        Descriptors(100, is_given=True).bound(process.pid)
        assert resource.prlimit(process.pid, resource.RLIMIT_NOFILE) == (100, 100)
        process.kill()
    Descriptors(100, is_given=True).bound(process.pid)  # it has ended
