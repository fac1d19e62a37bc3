"""Caches in tests."""

from pathlib import Path

from rain.base.caching import Key
from rain.cache.contents import Digests
from rain.cache.entries import Output
from rain.cache.folder import CacheFolder, FoundEntry
from rain.cache.places import open_place
from rain.cache.plan import KeyPlan

ROOMY = 10_000_000


def a_cache(folder: Path, most: int | None = ROOMY) -> CacheFolder:
    """A cache as one process has it."""
    return CacheFolder(open_place(str(folder)), Digests(), most)


def a_key(run: str = "today", name: str = "f", **parts: str) -> Key:
    """A key whose parts are these words, with an underscore for each blank."""
    given = tuple((words.replace("_", " "), digest) for words, digest in parts.items())
    return KeyPlan(name, run, given, ()).key("py/", [])


def add(cache: CacheFolder, key: Key, *contents: bytes | Path) -> None:
    """A task has made these outputs."""
    outputs = [
        Output(one, size=len(one) if isinstance(one, bytes) else one.stat().st_size)
        for one in contents
    ]
    cache.add(key, 0.5, outputs)


def found(cache: CacheFolder, key: Key) -> FoundEntry:
    """The entry of a key, which must be there."""
    entry = cache.find(key)
    assert isinstance(entry, FoundEntry), entry
    return entry


def data_of(cache: CacheFolder, key: Key) -> list[bytes | None]:
    """The small outputs of an entry, None for large ones."""
    return [kept.data for kept in found(cache, key).entry.outputs]
