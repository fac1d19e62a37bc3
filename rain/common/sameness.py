"""Compares the submissions of two runs of a task, in which equal objects have different ids.

A task that is tried again submits the same calls as before. But the pickles of its functions end
with data about their process, and the futures inside of its values have other ids. Both are removed
before the comparison. The rest is compared byte by byte.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from hashlib import blake2b

from rain.base.ids import ObjectId
from rain.common.imports import code_of

FUNCTION = "cloudpickle"
"""The content type of functions."""

ID = 8
"""How many bytes of the pickle of a future are the id of its object, behind the cluster."""


def place_of(cluster: bytes, object_id: ObjectId) -> bytes:
    """The cluster and object id of a future in its pickle, always in the same number of bytes."""
    return cluster + object_id.to_bytes(ID)


def at_place(place: bytes) -> tuple[bytes, ObjectId]:
    """The cluster, and the object there."""
    return place[:-ID], ObjectId(int.from_bytes(place[-ID:]))


def alike(
    data: bytes, content_type: str, cluster: bytes, inside: Sequence[ObjectId]
) -> bytes | None:
    """The data with the numbers of the futures `inside` in the place of their ids.

    None if nobody can say what the data is.
    """
    told = code_of(data) if content_type == FUNCTION else data
    if told is None or not (inside and cluster):
        return told
    numbers = {
        object_id.to_bytes(ID): place_of(bytes(len(cluster)), ObjectId(number))
        for number, object_id in enumerate(inside)
    }
    places = re.compile(re.escape(cluster) + b"(.{%d})" % ID, re.DOTALL)
    return places.sub(lambda found: numbers.get(found[1], found[0]), told)


def digest(parts: Iterable[object]) -> bytes:
    """One value for all of them, each with its length so that none runs into the next."""
    summed = blake2b(digest_size=16)
    for part in parts:
        data = part if isinstance(part, bytes) else repr(part).encode()
        summed.update(len(data).to_bytes(8, "little"))
        summed.update(data)
    return summed.digest()
