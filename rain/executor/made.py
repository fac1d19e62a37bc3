"""A cache of recent outputs: inputs of calls that are queued behind the calls that make them."""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from rain.base import executor_protocol as protocol
from rain.base.ids import NUMBER_BITS

OUTPUTS_AT_MOST = 1024
BYTES_AT_MOST = 16 * 1024 * 1024

_CONTENT = protocol.ObjectRow._fields.index("content")


class Made:
    """The latest outputs that were answered inline; the oldest are dropped first."""

    def __init__(self) -> None:
        # Content type, user's notes, bytes. A plain dict would search for its first entry among
        # all slots of deleted entries.
        self._rows: OrderedDict[int, tuple[str, str, bytes]] = OrderedDict()
        self._bytes = 0

    def complete(self, inputs: list[int | protocol.ObjectRow]) -> bool:
        """Adds the content to inputs that came without; False if one is not cached any more."""
        for index, given in enumerate(inputs):
            if isinstance(given, int) or given[_CONTENT] is not None:
                continue
            object_id, kind = given[0], given[1]
            made = self._rows.get(object_id)
            if made is None:
                return False
            content_type, user, data = made
            inputs[index] = protocol.ObjectRow(object_id, kind, content_type, user, len(data), data)
        return True

    def keep(self, outputs: Sequence[int], told: Sequence[Any]) -> None:
        """Caches the inline outputs of an answer."""
        rows = self._rows
        for output, content in zip(outputs, told, strict=True):
            if type(content) is bytes:
                rows[output] = ("", "", content)
                self._bytes += len(content)
            elif content[0] == protocol.BYTES:
                _, data, content_type, user = content[:4]
                rows[output] = (content_type, user, data)
                self._bytes += len(data)
        while len(rows) > OUTPUTS_AT_MOST or self._bytes > BYTES_AT_MOST:
            _, (_, _, data) = rows.popitem(last=False)
            self._bytes -= len(data)

    def forget(self, outputs: Sequence[int]) -> None:
        """Drops outputs that will be made again, so that no call reads the old ones."""
        for output in outputs:
            if output in self._rows:
                self._drop(output)

    def forget_session(self, session: int) -> None:
        """Drops the outputs of a session."""
        for output in [output for output in self._rows if output >> NUMBER_BITS == session]:
            self._drop(output)

    def _drop(self, output: int) -> None:
        _, _, data = self._rows.pop(output)
        self._bytes -= len(data)
