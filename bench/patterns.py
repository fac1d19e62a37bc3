"""Graphs of rows: each task of a row reads tasks of the previous row, by a pattern.

These are the usual patterns for comparing task runtimes. Every task computes for the same time, so
that the pattern and that time describe the graph.
"""

from collections.abc import Callable

from bench.functions import Function
from bench.shapes import Call, Layer, Shape

REACH = 5  # how many tasks of the previous row `spread` and `nearest` read


def _stencil(width: int, step: int, column: int) -> list[int]:
    return [column - 1, column, column + 1]


def _nearest(width: int, step: int, column: int) -> list[int]:
    return list(range(column - REACH // 2, column + REACH // 2 + 1))


def _fft(width: int, step: int, column: int) -> list[int]:
    """A butterfly whose distance doubles with every step."""
    levels = max(1, (width - 1).bit_length())
    wing = 2 ** ((step - 1) % levels)
    return [column - wing, column, column + wing]


def _all_to_all(width: int, step: int, column: int) -> list[int]:
    return list(range(width))


def _spread(width: int, step: int, column: int) -> list[int]:
    """Tasks that are far apart, and different ones in every step."""
    return [(column + i * width // REACH + (step - 1 if i else 0)) % width for i in range(REACH)]


PATTERNS: dict[str, Callable[[int, int, int], list[int]]] = {
    "stencil": _stencil,
    "nearest": _nearest,
    "fft": _fft,
    "spread": _spread,
    "all-to-all": _all_to_all,
}


def needs(pattern: str, width: int, step: int, column: int) -> tuple[int, ...]:
    """The columns of the previous row that a task reads, without columns outside of the row."""
    columns = PATTERNS[pattern](width, step, column)
    return tuple(sorted({one for one in columns if 0 <= one < width}))


def rows(pattern: str, width: int, steps: int, microseconds: int) -> Shape:
    """`steps` rows of `width` tasks, each of which computes for `microseconds`."""
    layers = [Layer(Function.BUSY, (Call(numbers=(microseconds,)),) * width)]
    for step in range(1, steps):
        before = (step - 1) * width
        layers.append(
            Layer(
                Function.BUSY,
                tuple(
                    Call(
                        numbers=(microseconds,),
                        needs=tuple(before + one for one in needs(pattern, width, step, column)),
                    )
                    for column in range(width)
                ),
            )
        )
    last = (steps - 1) * width
    return Shape(
        name=pattern,
        layers=tuple(layers),
        results=tuple(range(last, last + width)),
        answers=(steps,) * width,
    )
