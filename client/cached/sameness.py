"""What makes a call of a durable session the same as one of an earlier run of the program.

That is the code of the function and the values of its arguments, as for results that are kept in
a cache, not how these happen to be pickled. Data that they stand for is named by its object: the
server knows what makes that the same.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from hashlib import blake2b

from rain.base.ids import ObjectId
from rain.client.cached.values import Handle, value_digest
from rain.client.data import to_dataobj
from rain.client.future import Future
from rain.client.submission import Same

_PYTHON = ".".join(map(str, sys.version_info[:2]))


def key_of_function(fn: Callable[..., object]) -> Same:
    """What a function does, and the data that it has captured."""
    stands: list[ObjectId] = []
    return Same(value_digest(fn, _noting(stands)).encode(), stands)


def key_of_call(
    function: Same, outputs: object, cache_key: str, arguments: Iterable[tuple[str, object]]
) -> Same:
    """What a call makes; `arguments` are named."""
    stands = [*function.objects]
    digest = blake2b(function.key, digest_size=16)
    for said in (_PYTHON, cache_key, value_digest(outputs)):
        digest.update(said.encode() + b"\0")
    for name, value in arguments:
        digest.update(f"{name}\0{value_digest(value, _noting(stands))}\0".encode())
    return Same(digest.digest(), stands)


def _noting(stands: list[ObjectId]) -> Callable[[Handle], str]:
    """Notes the data that stands in a value, by its place among all."""

    def stands_for(handle: Handle) -> str:
        made = handle.handle if isinstance(handle, Future) else to_dataobj(handle)
        stands.append(made.packed_id)
        return str(len(stands))

    return stands_for
