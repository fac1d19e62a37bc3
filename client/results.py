"""Small results that came with the answer of a wait, until somebody fetches them."""

from attrs import frozen

from rain.base.wire import Delivery

CAPACITY = 64 * 1024 * 1024
"""At most this many bytes are held; what comes beyond is fetched when it is asked for."""


@frozen
class Result:
    """The data of a finished object."""

    data: bytes
    content_type: str


class ResultStore:
    """Results by the packed id of their object."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._results: dict[int, Result] = {}
        self._size = 0

    def __len__(self) -> int:
        return len(self._results)

    def take_in(self, delivery: Delivery) -> None:
        """Stores what was delivered whole."""
        for packed_id, size, content_type, data in zip(
            delivery.ids, delivery.sizes, delivery.content_types, delivery.data, strict=True
        ):
            if len(data) != size or packed_id in self._results:
                continue
            if self._size + size > self._capacity:
                return
            self._results[packed_id] = Result(data, content_type)
            self._size += size

    def get(self, packed_id: int) -> Result | None:
        return self._results.get(packed_id)

    def drop(self, packed_id: int) -> None:
        """Forgets a result. Called by finalizers: takes no lock."""
        result = self._results.pop(packed_id, None)
        if result is not None:
            self._size -= len(result.data)

    def clear(self) -> None:
        self._results.clear()
        self._size = 0
