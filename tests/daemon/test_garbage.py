"""What a large submission brings is spared by the collector, and what is garbage goes at last."""

import gc
from collections.abc import Generator
from weakref import ref

import pytest

from rain.daemon.garbage import FEW, PAUSE, LargeSubmissions


class Node:
    """Something that the collector looks at."""

    def __init__(self) -> None:
        self.circle = self


@pytest.fixture
def large() -> Generator[LargeSubmissions]:
    gc.disable()
    yield LargeSubmissions()
    gc.enable()
    gc.unfreeze()


def is_looked_at(node: Node) -> bool:
    return any(found is node for found in gc.get_objects())


def test_what_comes_with_each_part_of_a_submission_is_spared(large: LargeSubmissions) -> None:
    parts: list[Node] = []
    for growing in (True, True, False):
        parts.append(Node())
        assert is_looked_at(parts[-1])
        large.after_turn(1.0, growing=growing, nodes=FEW + 1)
        assert not any(map(is_looked_at, parts))


def test_what_becomes_garbage_meanwhile_goes_when_there_are_few_nodes(
    large: LargeSubmissions,
) -> None:
    gone = ref(Node())
    for growing in (True, False):
        large.after_turn(1.0, growing=growing, nodes=FEW + 1)
    large.after_turn(2.0, growing=False, nodes=FEW + 1)
    assert gone() is not None
    large.after_turn(3.0, growing=False, nodes=FEW)
    assert gone() is None


def test_all_is_looked_through_only_now_and_then(large: LargeSubmissions) -> None:
    for growing in (True, False, False):
        large.after_turn(1.0, growing=growing, nodes=0)
    gone = ref(Node())
    for growing in (True, False, False):
        large.after_turn(PAUSE, growing=growing, nodes=0)
    assert gone() is not None
    large.after_turn(1.0 + PAUSE, growing=False, nodes=0)
    assert gone() is None


def test_all_else_is_left_to_the_collector(large: LargeSubmissions) -> None:
    node = Node()
    large.after_turn(1.0, growing=False, nodes=0)
    assert is_looked_at(node)
