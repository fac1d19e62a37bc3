"""Outputs of tasks, as users describe them, and lists of them."""

from collections.abc import Sequence
from typing import Any, ClassVar

from rain.client.guards import is_labeled_list, is_sequence
from rain.client.shapes import ObjectShape, checked_size_hint
from rain.common.content_type import check_content_type, merge_content_types
from rain.common.data_type import DataType
from rain.common.errors import RainException


class OutputBase:
    """One output: its label, content type, how a returned value is encoded, and its path.

    `path` is where a program leaves it; the default is the label. `size_hint` is the expected
    number of bytes, a hint for the scheduler; it is rounded up.

    >>> Output("table", encode="json", size_hint=1000).content_type
    'json'
    """

    data_type: ClassVar[DataType] = DataType.BLOB

    def __init__(
        self,
        label: str | None = None,
        *,
        size_hint: float | None = None,
        content_type: str | None = None,
        mode: object = None,
        encode: str | None = None,
        path: str | None = None,
    ) -> None:
        if mode is not None:
            raise RainException("Output: mode is not supported")
        check_content_type(content_type)
        check_content_type(encode)
        self.label = label
        self.size_hint = checked_size_hint(type(self).__name__, size_hint)
        self.encode = encode
        self.content_type = merge_content_types(content_type, encode)
        self.path = label if path is None else path

    def merged(self, prototype: "OutputBase") -> "OutputBase":
        """This output as a call gives it, completed by what the prototype says."""
        if self.data_type is not prototype.data_type:
            raise RainException(
                f"{self!r} cannot take the place of {prototype!r}: one is a directory"
            )
        return type(self)(
            prototype.label if self.label is None else self.label,
            size_hint=prototype.size_hint if self.size_hint is None else self.size_hint,
            content_type=merge_content_types(self.content_type, prototype.content_type),
            encode=merge_content_types(self.encode, prototype.encode),
            path=prototype.path if self.path is None else self.path,
        )

    def shape(self, label: str | None = None) -> ObjectShape:
        """The shape of the data object; `label` serves when the output has none."""
        return ObjectShape(
            label if self.label is None else self.label,
            self.content_type,
            self.data_type.value,
            "",
            self.size_hint or 0,
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.label!r})"

    def __str__(self) -> str:
        # Commands recognise it when it was formatted into a text (see commands.py).
        return f"<{type(self).__name__} {self.label!r}>"


class Output(OutputBase):
    """A blob as the output of a task.

    >>> @remote(outputs=[Output("length", encode="json")])
    ... def measure(ctx, text):
    ...     return len(text)
    >>> session.compute(measure("rain")).load()
    4
    """


class OutputDir(OutputBase):
    """A directory as the output of a task.

    >>> make = tasks.Execute(["mkdir", OutputDir("made")])
    >>> session.compute(make).data_type.name
    'DIRECTORY'
    """

    data_type = DataType.DIRECTORY


def to_output(value: Any) -> OutputBase:
    """An output from itself or from its label."""
    if isinstance(value, str):
        return Output(value)
    if isinstance(value, OutputBase):
        return value
    raise TypeError(f"an output is a label or an Output, not {value!r}")


def is_outputs(value: object) -> bool:
    """Whether a return annotation describes outputs; anything else there is an ordinary type."""
    if isinstance(value, int | OutputBase) or is_labeled_list(value):
        return not isinstance(value, bool)
    return is_sequence(value) and all(isinstance(item, str | OutputBase) for item in value)


class OutputSpec:
    """The outputs of a remote function: each has a label, "out0" and so on unless said."""

    __slots__ = ("encodings", "outputs", "shapes")

    def __init__(self, outputs: Any = 1, auto_encode: str | None = None) -> None:
        self.outputs = tuple(
            _completed(output, f"out{i}", auto_encode) for i, output in enumerate(_listed(outputs))
        )
        self.shapes = tuple(output.shape() for output in self.outputs)
        self.encodings = [output.encode for output in self.outputs]
        labels = [output.label for output in self.outputs]
        if len(set(labels)) < len(labels):
            raise RainException(f"The labels of the outputs are not unique: {labels}")

    def __len__(self) -> int:
        return len(self.outputs)

    def merged(self, given: Sequence[Any]) -> "OutputSpec":
        """The outputs of one call, which may rename each of them (None leaves it as it is)."""
        if len(given) != len(self.outputs):
            raise ValueError(f"{len(self.outputs)} outputs are expected, not {len(given)}")
        return OutputSpec(
            [
                prototype if output is None else to_output(output).merged(prototype)
                for output, prototype in zip(given, self.outputs, strict=True)
            ]
        )


def _listed(outputs: Any) -> Sequence[OutputBase]:
    """Outputs from their number, from one of them, or from a sequence, labelled or not."""
    if isinstance(outputs, int):
        if outputs < 0:
            raise ValueError(f"there cannot be {outputs} outputs")
        return [Output() for _ in range(outputs)]
    if isinstance(outputs, str | OutputBase):
        return [to_output(outputs)]
    if is_labeled_list(outputs):
        return [_labelled(label, value) for label, value in outputs.items()]
    return [to_output(output) for output in outputs]


def _labelled(label: Any, value: Any) -> OutputBase:
    output = Output() if value is None else to_output(value)
    if label is None or output.label is not None:
        return output
    return type(output)(label).merged(output)


def _completed(output: OutputBase, label: str, auto_encode: str | None) -> OutputBase:
    encode = auto_encode if output.data_type is DataType.BLOB and not output.encode else None
    if output.label is not None and encode is None:
        return output
    return type(output)(
        label if output.label is None else output.label,
        size_hint=output.size_hint,
        content_type=output.content_type,
        encode=output.encode if encode is None else encode,
        path=output.path,
    )
