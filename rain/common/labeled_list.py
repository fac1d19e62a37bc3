"""A list whose items may have labels: the inputs and outputs of a task."""

from collections.abc import Hashable, Iterable, Iterator, MutableSequence
from typing import Any, Generic, TypeGuard, TypeVar, overload

T = TypeVar("T")


class LabeledList(MutableSequence[T], Generic[T]):  # noqa: PLW1641 # mutable: has no hash
    """A mutable sequence with optional labels; a label names at most one item.

    `in` tests for a label, not for a value. An item that is assigned by index loses its label.
    """

    __slots__ = ("_index", "data", "labels")

    def __init__(
        self,
        items: Iterable[T] | None = None,
        labels: Iterable[Hashable | None] | None = None,
        *,
        pairs: Iterable[tuple[Hashable | None, T]] | None = None,
    ) -> None:
        if pairs is not None:
            if items is not None or labels is not None:
                raise ValueError("pairs contain labels and items; pass no other argument")
            both = list(pairs)
            items = [value for _, value in both]
            labels = [label for label, _ in both]
        if labels is None and isinstance(items, LabeledList):
            labels = items.labels
        self.data: list[T] = [] if items is None else list(items)
        self.labels: list[Hashable | None] = (
            [None] * len(self.data) if labels is None else list(labels)
        )
        if len(self.labels) != len(self.data):
            raise ValueError(f"{len(self.data)} items cannot have {len(self.labels)} labels")
        self._index: dict[Hashable, int] = {}
        for i, label in enumerate(self.labels):
            self._check_label(label)
            if label is not None:
                self._index[label] = i

    def _check_label(self, label: Hashable | None, at: int | None = None) -> None:
        """Checks that a label is unique and is not an index."""
        if isinstance(label, int | slice):
            raise TypeError(f"a label cannot be a number or a slice: {label!r}")
        if label is not None and self._index.get(label, at) != at:
            raise KeyError(f"the label {label!r} is taken")

    def _reindex(self) -> None:
        self._index = {label: i for i, label in enumerate(self.labels) if label is not None}

    def _position(self, key: int | Hashable) -> int:
        if isinstance(key, int):
            position = key + len(self.data) if key < 0 else key
            if not 0 <= position < len(self.data):
                raise IndexError(f"index {key} is out of range")
            return position
        return self._index[key]

    @overload
    def __getitem__(self, key: int) -> T: ...
    @overload
    def __getitem__(self, key: "slice[Any, Any, Any]") -> list[T]: ...
    @overload
    def __getitem__(self, key: str) -> T: ...
    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return self.data[key]
        return self.data[self._position(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(key, slice):
            values: list[T] = list(value)
            kept = list(self.data)
            kept[key] = values
            self.labels[key] = [None] * len(values)
            self.data = kept
        elif isinstance(key, int):
            position = self._position(key)
            self.data[position] = value
            self.labels[position] = None
        else:
            self.data[self._position(key)] = value
            return
        self._reindex()

    def __delitem__(self, key: Any) -> None:
        if not isinstance(key, slice):
            key = self._position(key)
        del self.data[key]
        del self.labels[key]
        self._reindex()

    def __len__(self) -> int:
        return len(self.data)

    def __iter__(self) -> Iterator[T]:
        return iter(self.data)

    def __contains__(self, label: object) -> bool:
        return label in self._index

    def __eq__(self, other: object) -> bool:
        if not self._is_like(other):
            return NotImplemented
        return self.data == other.data and self.labels == other.labels

    def _is_like(self, other: object) -> TypeGuard["LabeledList[Any]"]:
        return type(other) is type(self)

    def __repr__(self) -> str:
        items = ", ".join(
            repr(value) if label is None else f"{label}={value!r}" for label, value in self.items()
        )
        return f"[{items}]"

    def append(self, value: T, label: Hashable | None = None) -> None:
        self._check_label(label)
        if label is not None:
            self._index[label] = len(self.data)
        self.data.append(value)
        self.labels.append(label)

    def insert(self, index: int, value: T, label: Hashable | None = None) -> None:
        self._check_label(label)
        self.data.insert(index, value)
        self.labels.insert(index, label)
        self._reindex()

    def set(self, index: int | Hashable, value: T, label: Hashable | None = None) -> None:
        """Replaces an item and its label."""
        position = self._position(index)
        self._check_label(label, position)
        self.data[position] = value
        self.labels[position] = label
        self._reindex()

    def get_label(self, index: int) -> Hashable | None:
        return self.labels[index]

    def set_label(self, index: int, label: Hashable | None) -> None:
        position = self._position(index)
        self._check_label(label, position)
        self.labels[position] = label
        self._reindex()

    def items(self) -> Iterator[tuple[Hashable | None, T]]:
        """Pairs of label (or None) and value, in order."""
        return iter(zip(self.labels, self.data, strict=True))

    def reverse(self) -> None:
        self.data.reverse()
        self.labels.reverse()
        self._reindex()

    def _check(self) -> None:
        """Asserts that labels, items and the index agree."""
        assert len(self.data) == len(self.labels)
        assert self._index == {label: i for i, label in enumerate(self.labels) if label is not None}
