"""How chunks are cut and put together, against numpy, without a cluster."""

from itertools import accumulate, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rain.client.for_dask.chunk_grids import Grid, Place, exact, exchanges
from rain.common.chunks import assemble, cut_apart
from rain.common.errors import RainException


@st.composite
def lengths_of(draw: st.DrawFn, total: int) -> tuple[int, ...]:
    """An axis in chunks of any lengths."""
    ends = sorted(draw(st.sets(st.integers(1, total), max_size=6)) | {total})
    return tuple([stop - start for start, stop in zip([0, *ends], ends, strict=False)])


@st.composite
def two_grids(draw: st.DrawFn) -> tuple[Grid, Grid, set[Place]]:
    """Two grids over one shape, and some chunks of the second one."""
    shape = draw(st.lists(st.integers(1, 12), min_size=1, max_size=3))
    old = tuple([draw(lengths_of(total)) for total in shape])
    new = tuple([draw(lengths_of(total)) for total in shape])
    places = list(product(*[range(len(lengths)) for lengths in new]))
    return old, new, draw(st.sets(st.sampled_from(places), min_size=1))


def chunk(array: Any, grid: Grid, place: Place) -> Any:
    ends = [[0, *accumulate(lengths)] for lengths in grid]
    return array[tuple([slice(end[at], end[at + 1]) for end, at in zip(ends, place, strict=True)])]


@given(two_grids())
def test_new_chunks_made_of_old_ones_are_those_of_the_array(
    grids: tuple[Grid, Grid, set[Place]],
) -> None:
    old, new, wanted = grids
    array = np.arange(np.prod([sum(lengths) for lengths in old])).reshape(
        [sum(lengths) for lengths in old]
    )
    made: set[Place] = set()
    for one in exchanges(old, new, wanted):
        split = [
            cut_apart(here := chunk(array, old, place), here.shape, cuts, len(one.new))
            for place, cuts in zip(one.old, one.cuts, strict=True)
        ]
        assert one.pieces == sum(len(pieces.pieces) for pieces in split)
        for number, (place, extents) in enumerate(zip(one.new, one.extents, strict=True)):
            pieces = [each.pieces[number] for each in split if number in each.pieces]
            assert np.array_equal(assemble(pieces, extents), chunk(array, new, place))
            made.add(place)
    assert made == wanted


@given(two_grids())
def test_an_old_chunk_is_in_one_exchange(grids: tuple[Grid, Grid, set[Place]]) -> None:
    old = [place for one in exchanges(*grids) for place in one.old]

    assert len(set(old)) == len(old)


def test_chunks_that_have_nothing_to_do_with_each_other_are_exchanged_apart() -> None:
    places = list(product(range(2), range(3)))

    found = exchanges(((2, 2, 4), (9,)), ((4, 4), (3, 3, 3)), places)

    assert [len(one.old) for one in found] == [2, 1]
    assert [len(one.new) for one in found] == [3, 3]


def test_only_the_old_chunks_of_which_something_is_wanted_are_cut() -> None:
    (one,) = exchanges(((5,) * 10,), ((4,) * 12 + (2,),), [(0,), (1,)])

    assert one.old == ((0,), (1,))
    assert one.cuts == (((0, ((0, 4),)), (1, ((4, 5),))), ((1, ((0, 3),)),))


@pytest.mark.parametrize("chunks", [((2, float("nan")),), ((2, 0),), ()])
def test_a_grid_with_chunks_that_are_unknown_or_empty_is_none(chunks: Any) -> None:
    assert exact(chunks) is None


def test_a_chunk_of_another_shape_than_its_array_says_is_refused() -> None:
    with pytest.raises(RainException, match=r"has the shape \(2, 2\), .* says that it is \(2, 3\)"):
        cut_apart(np.ones((2, 2)), (2, 3), [(0, ((0, 1), (0, 3)))], 1)


def test_arrays_of_other_kinds_are_put_together_by_their_own_rules() -> None:
    masked = np.ma.masked_equal([1, 2], 2)

    made = assemble([np.array([7, 8]), masked], [(2, 2)])

    assert made.mask.tolist() == [False, False, False, True]
