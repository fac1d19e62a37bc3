"""Reads the pieces of a shuffle in a local cluster, where all of them are in its one store."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rain.base.errors import RefusedError
from rain.base.exchange import ListedObject
from rain.base.ids import ObjectId, spell
from rain.common.errors import PiecesLostError, RainException
from rain.common.pickles import Part
from rain.stream.holder import Held, InFile, InMemory
from rain.stream.mapping import map_region
from rain.stream.parts import in_file, in_memory, place_of

Find = Callable[[ObjectId], Held | None]


class LocalPieces:
    """Finds objects in the store of this process."""

    def __init__(self, find: Find) -> None:
        self._find = find

    def read(self, part: int, members: Sequence[ListedObject]) -> list[Part | None]:
        return [self._piece(one.object, part) for one in members]

    def _piece(self, object_id: ObjectId, part: int) -> Part | None:
        held = self._find(object_id)
        try:
            match held:
                case InMemory(data):
                    offset, length = place_of(in_memory(data), part)
                    return data[offset : offset + length] or None
                case InFile(descriptor):
                    offset, length = place_of(in_file(descriptor), part)
                    return map_region(descriptor, offset, length) if length else None
                case _:
                    raise PiecesLostError(f"{spell(object_id)} is not here")
        except RefusedError as error:
            raise RainException(f"{spell(object_id)}: {error}") from None
        finally:
            if isinstance(held, InFile):
                held.close()
