"""Keys of calls in durable sessions: equal for a call and for the same call of an earlier run.

A key depends on the code of the function and the values of its arguments, as for results in a
cache, and not on how they happen to be pickled. A data object in the arguments is named by its id:
the server knows which objects of two runs are the same.
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
    """The key of a function: of its code, and of the data that it has captured."""
    stands: list[ObjectId] = []
    return Same(value_digest(fn, _noting(stands)).encode(), stands)


def key_of_call(
    function: Same, outputs: object, cache_key: str, arguments: Iterable[tuple[str, object]]
) -> Same:
    """The key of a call; `arguments` are named."""
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
