"""What a large submission brings is spared by the collector, and what was garbage before is not."""

import gc
from collections.abc import Generator
from weakref import ref

import pytest

from rain.daemon.garbage import Nursery


class Node:
    """Something that the collector looks at."""

    def __init__(self) -> None:
        self.circle = self


@pytest.fixture
def nursery() -> Generator[Nursery]:
    gc.disable()
    yield Nursery()
    gc.enable()
    gc.unfreeze()


def is_looked_at(node: Node) -> bool:
    return any(found is node for found in gc.get_objects())


def test_what_comes_with_each_part_of_a_submission_is_spared(nursery: Nursery) -> None:
    parts: list[Node] = []
    for growing in (True, True, False):
        parts.append(Node())
        assert is_looked_at(parts[-1])
        nursery.after_turn(growing=growing)
        assert not any(map(is_looked_at, parts))


def test_what_came_before_in_circles_and_is_not_needed_any_more_is_gone(nursery: Nursery) -> None:
    gone = ref(Node())
    assert gone() is not None
    nursery.after_turn(growing=True)
    assert gone() is None


def test_all_else_is_left_to_the_collector(nursery: Nursery) -> None:
    nursery.after_turn(growing=True)
    nursery.after_turn(growing=False)
    node = Node()
    nursery.after_turn(growing=False)
    assert is_looked_at(node)
