"""The list of an exchange: the partitioned objects of a shuffle, of which tasks read one part each.

A shuffle has M objects with N parts, and N tasks that read one part of each object. These would be
M x N edges of a graph. So one task, the exchange, reads the M objects, and its output is the list
of their places. Each of the N tasks reads this list, and then fetches its parts from these places
(`rain.common.pieces`). Nothing is moved for the exchange itself.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from attrs import frozen

from rain.base.errors import ProtocolError
from rain.base.ids import ObjectId

EXCHANGE = "buildin/exchange"
"""The type of the tasks."""

LISTED = "exchange"
"""The content type of what they make."""


@frozen
class ListedObject:
    """One partitioned object, and where it is."""

    object: ObjectId
    piece: int  # about how many bytes each of its pieces has
    source: str


def encode_list(members: Sequence[ListedObject]) -> bytes:
    """The list as bytes; each source is named once."""
    places = {source: place for place, source in enumerate({one.source: 0 for one in members})}
    rows = [(one.object, one.piece, places[one.source]) for one in members]
    return json.dumps({"sources": [*places], "objects": rows}).encode()


def decode_list(data: bytes | memoryview) -> list[ListedObject]:
    """Reads it; `ProtocolError` if that is none."""
    try:
        table: dict[str, Any] = json.loads(bytes(data))
        sources: list[str] = table["sources"]
        rows: list[tuple[int, int, int]] = table["objects"]
        return [
            ListedObject(ObjectId(object_id), piece, sources[place])
            for object_id, piece, place in rows
        ]
    except (ValueError, TypeError, LookupError) as error:
        raise ProtocolError(f"the list of an exchange is invalid: {error!r}") from None
