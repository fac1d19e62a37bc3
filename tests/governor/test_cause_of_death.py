"""What is said of an executor that has died."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from rain.governor.executors.process import Places, cause_of_death


@pytest.mark.parametrize(
    ("most", "when"),
    [
        (resource.RLIM_INFINITY, "when memory runs out)"),
        (3600, "when memory runs out, or after 3600 s of CPU time: ulimit -t)"),
    ],
)
def test_what_the_kernel_kills_for_is_named(
    most: int, when: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def limits(which: int) -> tuple[int, int]:
        assert which == resource.RLIMIT_CPU
        return 1, most

    monkeypatch.setattr(resource, "getrlimit", limits)
    first = cause_of_death(7, -9, Places(tmp_path, tmp_path, tmp_path), 100).partition("\n")[0]
    assert first == f"executor 7 was killed by SIGKILL (the kernel does this {when}"
