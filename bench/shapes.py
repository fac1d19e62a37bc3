"""The task graphs that are measured, in no system's own words.

A shape is a list of layers. The calls of a layer need only results of earlier
layers, so that a system with a call for many tasks at once can use it.
Every shape knows the answers that it must give.
"""

from collections.abc import Sequence

from attrs import frozen

from bench.functions import Function


@frozen
class Call:
    """One task. Its arguments are plain numbers, and after them results of earlier tasks."""

    numbers: tuple[int, ...] = ()
    needs: tuple[int, ...] = ()  # each counts the calls of the shape from 0


@frozen
class Layer:
    """Calls of one function that do not need each other."""

    function: Function
    calls: tuple[Call, ...]


@frozen
class Shape:
    name: str
    layers: tuple[Layer, ...]
    results: tuple[int, ...]  # the calls whose values the client wants
    answers: tuple[int, ...]  # the values that they must have
    fused: bool = False  # straight chains in it run as one task each

    @property
    def task_count(self) -> int:
        return sum(len(layer.calls) for layer in self.layers)

    @property
    def is_graph(self) -> bool:
        """Whether some task needs another."""
        return len(self.layers) > 1


class WrongAnswer(Exception):
    """A system was fast, but not right."""


def check_answers(shape: Shape, given: Sequence[object]) -> None:
    """WrongAnswer unless these are the values that the shape must give."""
    if len(given) != len(shape.answers):
        raise WrongAnswer(
            f"{shape.name}: {len(given)} results came, and there should be {len(shape.answers)}"
        )
    for number, (answer, expected) in enumerate(zip(given, shape.answers, strict=True)):
        if answer != expected:
            raise WrongAnswer(f"{shape.name}: result {number} is {answer!r}, not {expected}")


def independent(count: int) -> Shape:
    """Tasks that have nothing to do with each other; the client wants every result."""
    return Shape(
        name="independent",
        layers=(Layer(Function.INC, tuple(Call(numbers=(i,)) for i in range(count))),),
        results=tuple(range(count)),
        answers=tuple(i + 1 for i in range(count)),
    )


def merge(count: int) -> Shape:
    """Independent tasks, and one that sums them."""
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
    first = 0  # the first call of the layer before
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
    """Tasks in a row: each needs the one before."""
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
    """The depth of the largest tree that has no more tasks than this."""
    return (tasks + 1).bit_length() - 1
