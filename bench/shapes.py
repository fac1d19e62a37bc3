"""The measured task graphs, independent of any system.

A shape is a list of layers. The calls of a layer need only results of earlier layers, so that a
system can submit them at once. Every shape includes its correct answers.
"""

from collections.abc import Sequence

from attrs import frozen

from bench.functions import Function


@frozen
class Call:
    """One task. Its arguments are plain numbers, followed by results of earlier tasks."""

    numbers: tuple[int, ...] = ()
    needs: tuple[int, ...] = ()  # indexes of calls of the shape


@frozen
class Layer:
    """Independent calls of one function."""

    function: Function
    calls: tuple[Call, ...]


@frozen
class Shape:
    name: str
    layers: tuple[Layer, ...]
    results: tuple[int, ...]  # the calls whose results the client fetches
    answers: tuple[int, ...]  # their correct values
    fused: bool = False  # straight chains run as one task each

    @property
    def task_count(self) -> int:
        return sum(len(layer.calls) for layer in self.layers)

    @property
    def is_graph(self) -> bool:
        """Whether any task depends on another."""
        return len(self.layers) > 1


class WrongAnswer(Exception):
    """A system gave a wrong result."""


def check_answers(shape: Shape, given: Sequence[object]) -> None:
    """Raises WrongAnswer if these are not the correct values."""
    if len(given) != len(shape.answers):
        raise WrongAnswer(f"{shape.name}: {len(given)} results instead of {len(shape.answers)}")
    for number, (answer, expected) in enumerate(zip(given, shape.answers, strict=True)):
        if answer != expected:
            raise WrongAnswer(f"{shape.name}: result {number} is {answer!r}, not {expected}")


def independent(count: int) -> Shape:
    """Independent tasks; the client fetches every result."""
    return Shape(
        name="independent",
        layers=(Layer(Function.INC, tuple(Call(numbers=(i,)) for i in range(count))),),
        results=tuple(range(count)),
        answers=tuple(i + 1 for i in range(count)),
    )


def merge(count: int) -> Shape:
    """Independent tasks, and one that adds their results."""
    return Shape(
        name="merge",
        layers=(
            Layer(Function.INC, tuple(Call(numbers=(i,)) for i in range(count))),
            Layer(Function.TOTAL, (Call(needs=tuple(range(count))),)),
        ),
        results=(count,),
        answers=(count * (count + 1) // 2,),
    )


def merge_slow(count: int, microseconds: int) -> Shape:
    """Independent tasks that sleep, and one that counts them."""
    return Shape(
        name="merge slow",
        layers=(
            Layer(Function.SLEEP, (Call(numbers=(microseconds,)),) * count),
            Layer(Function.TOTAL, (Call(needs=tuple(range(count))),)),
        ),
        results=(count,),
        answers=(count,),
    )


def tree(depth: int) -> Shape:
    """Pairwise sums down to one number: 2^depth - 1 tasks."""
    width = 2 ** (depth - 1)
    layers = [Layer(Function.ADD, tuple(Call(numbers=(2 * i, 2 * i + 1)) for i in range(width)))]
    first = 0  # the first call of the previous layer
    while width > 1:
        pairs = range(first, first + width, 2)
        layers.append(Layer(Function.ADD, tuple(Call(needs=(i, i + 1)) for i in pairs)))
        first += width
        width //= 2
    leaves = 2**depth
    return Shape(
        name="tree",
        layers=tuple(layers),
        results=(first,),
        answers=(leaves * (leaves - 1) // 2,),
    )


def chain(length: int, *, fused: bool = False) -> Shape:
    """A chain: each task needs the previous one."""
    first = Layer(Function.INC, (Call(numbers=(0,)),))
    rest = tuple(Layer(Function.INC, (Call(needs=(i,)),)) for i in range(length - 1))
    return Shape(
        name="chain fused" if fused else "chain",
        layers=(first, *rest),
        results=(length - 1,),
        answers=(length,),
        fused=fused,
    )


def deepest_tree(tasks: int) -> int:
    """The depth of the largest tree with at most this many tasks."""
    return (tasks + 1).bit_length() - 1
