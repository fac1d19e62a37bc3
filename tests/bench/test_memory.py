"""The works of `bench memory` agree with their right answers, and memory is bounded and counted."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from dask import config

from bench.memory import works
from bench.memory.groups import Group, bounded
from bench.memory.works import WORKS, Sizes, expected

SMALL = Sizes(1_600_000, 100_000)
MIB = 1024**2


@pytest.mark.parametrize("name", WORKS)
def test_each_work_has_its_right_answer(name: str) -> None:
    with config.set(scheduler="sync"):
        answer = WORKS[name](SMALL)
    right = expected(name, SMALL)
    assert answer == pytest.approx(answer if right is None else right, rel=1e-12)
    assert answer > 0


def test_a_part_that_is_not_sorted_is_no_answer() -> None:
    part = works.table(0, 100, 10)
    assert np.isnan(works.ordered(part))
    assert works.ordered(part.sort_values("order")) == pytest.approx(part["value"].sum())


def test_the_kernel_holds_all_processes_of_a_group_together_to_its_limit() -> None:
    """On machines where we may not make a group, the processes are only looked at."""
    with bounded(64 * MIB, "nobody") as group:
        if not isinstance(group, Group):
            return
        join = f"open('{group.folder}/cgroup.procs', 'w').write('0')"
        eat = [sys.executable, "-c", f"{join}; import os; len(bytearray(os.urandom({100 * MIB})))"]
        assert subprocess.run(eat, check=False).returncode == -9
        assert group.kills() == 1
        assert group.used() < 64 * MIB
    assert not Path(group.folder).exists()
