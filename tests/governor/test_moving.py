"""A governor with little shared memory: results move to the disk, and everybody finds them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rain.base.executor_protocol import INLINE_RESULT
from rain.governor.core.tiers import Tiers
from tests.governor.running import BLOB, Running, governed
from tests.governor.words import object_id
from tests.support.waiting import until

pytestmark = pytest.mark.whole

SIZE = INLINE_RESULT + 1000


def made_of(letter: int) -> Callable[[Any], bytes]:
    return lambda ctx: bytes([letter]) * SIZE


def test_results_beyond_the_budget_move_to_the_disk_and_are_what_they_were(
    tmp_path: Path,
) -> None:
    tiers = Tiers(budget=10 * SIZE, memory=1)  # a machine whose kernel writes back at once

    async def scenario(governor: Running) -> None:
        made: list[int] = []
        for letter in range(20):
            task = governor.call(governor.function(made_of(letter)), outputs=(BLOB,))
            await governor.outputs(task)
            made.append(task + 2)  # the kind of the task has the number between them
        await until(lambda: not in_memory(governor, made[0]))  # the oldest has moved
        assert tiers.used <= tiers.budget
        for letter, number in enumerate(made):
            assert governor.read(number) == bytes([letter]) * SIZE
        joined = governor.builtin("concat", inputs=(made[0], made[-1]))
        ((size, _),) = await governor.outputs(joined)
        assert size == 2 * SIZE

    governed(tmp_path, scenario, tiers=tiers)


def in_memory(governor: Running, number: int) -> bool:
    found = governor.reactor.find(object_id(number))
    assert found is not None
    assert isinstance(found.content, int)
    return governor.store.path(found.content).parent == governor.store.shared
