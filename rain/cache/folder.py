"""One cache: finds entries, adds them, and says why there is none. Any thread may call it.

An entry is a file, or a folder if it has large outputs. It is made under `new` and appears under
`entries` by one rename. Of two writers of one entry one wins, and both are right.
"""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from attrs import frozen

from rain.base.caching import Key
from rain.cache import files
from rain.cache.contents import Digests
from rain.cache.digests import digest_of
from rain.cache.entries import Entry, KeptOutput, Output, decode, encode
from rain.cache.errors import CacheError, DamagedEntryError
from rain.cache.journal import CacheJournal
from rain.cache.limits import Limit, remove_left_behind
from rain.cache.places import CachePlace
from rain.stream.removing import remove

DAMAGED = "its entry was damaged"

_JOURNALS_REMEMBERED = 256


@frozen
class FoundEntry:
    """An entry, and where its large outputs are."""

    entry: Entry
    path: Path

    def place_of(self, output: int) -> Path:
        """Where the large output with this number is."""
        return self.path / str(output)


class CacheFolder:
    """A cache as one process uses it."""

    def __init__(self, place: CachePlace, digests: Digests, most: int | None) -> None:
        self.place = place
        self._digests = digests
        self._limit = Limit(place, most)
        remove_left_behind(place)
        self._journals: dict[str, CacheJournal] = {}
        self._lock = threading.Lock()

    # Reading.

    def find(self, key: Key) -> FoundEntry | str:
        """The entry of a key, which counts as used now; or why there is none."""
        path = self.path_of(key)
        try:
            found = self._read(path)
        except FileNotFoundError:
            return self.journal(key.name).why(key)
        except DamagedEntryError:
            self._throw_away(path)
            return DAMAGED
        except OSError as error:
            raise CacheError(f"the entry {path} cannot be read: {error.strerror}") from None
        with suppress(OSError):  # of another user, or just evicted
            os.utime(path)
        return found

    def _read(self, path: Path) -> FoundEntry:
        try:
            data = path.read_bytes()
        except IsADirectoryError:
            data = (path / "entry").read_bytes()
        found = FoundEntry(decode(data), path)
        for place, kept in enumerate(found.entry.outputs):
            if kept.data is None:
                try:
                    digest = self._digests.of(found.place_of(place))
                except FileNotFoundError:
                    if path.exists():
                        raise DamagedEntryError(f"its output {place} is missing") from None
                    raise
                if digest != kept.digest:
                    raise DamagedEntryError(f"its output {place} has changed")
        return found

    def path_of(self, key: Key) -> Path:
        """Where the entry of a key is."""
        return self.place.path / "entries" / key.digest[:2] / key.digest

    def journal(self, name: str) -> CacheJournal:
        """The journal of a name."""
        with self._lock:
            known = self._journals.get(name)
            if known is None:
                if len(self._journals) >= _JOURNALS_REMEMBERED:
                    self._journals.clear()
                known = self._journals[name] = CacheJournal(self.place, name)
            return known

    # Writing.

    def add(self, key: Key, seconds: float, outputs: Sequence[Output]) -> None:
        """Keeps the outputs of a run; CacheError when that does not work."""
        new = self.place.path / "new" / secrets.token_hex(8)
        try:
            kept = [self._kept(output) for output in outputs]
            data = encode(key, seconds, kept)
            size = len(data) + sum(one.size for one in kept if one.data is None)
            if not self._limit.has_room_for(size):
                raise CacheError(
                    f"the {size} bytes of {key.name} are more than its limit,"
                    f" {self._limit.most} bytes"
                )
            self._make(new, data, outputs)
            self._publish(new, self.path_of(key))
            self.journal(key.name).add(key)
            self._limit.added(size)
        except OSError as error:
            raise CacheError(f"{self.place.path}: {error.strerror}") from None
        finally:
            remove(new)

    def _kept(self, output: Output) -> KeptOutput:
        content = output.content
        notes = output.content_type, output.user
        if isinstance(content, bytes):
            return KeptOutput(*notes, len(content), digest_of(content), content)
        digest = self._digests.of(content)
        return KeptOutput(*notes, output.size, digest, None, content.is_dir())

    def _make(self, new: Path, data: bytes, outputs: Sequence[Output]) -> None:
        place = self.place
        large = [
            (number, output.content)
            for number, output in enumerate(outputs)
            if isinstance(output.content, Path)
        ]
        entry = new / "entry" if large else new
        if large:
            new.mkdir()
        entry.write_bytes(data)
        place.share(entry, place.file_rights)
        for number, content in large:
            files.put(content, new / str(number), place.file_rights if place.is_shared else None)
        if large:
            place.share(new, place.folder_rights)

    def _publish(self, new: Path, path: Path) -> None:
        self.place.make_folder(path.parent)
        try:
            new.rename(path)
        except OSError:
            if not path.exists():
                raise
            # Another one has made it, and what is there was made of the same.

    def _throw_away(self, path: Path) -> None:
        gone = self.place.path / "new" / f"gone-{secrets.token_hex(8)}"
        with suppress(OSError):  # somebody else has done it, or only the owner may
            path.rename(gone)
            remove(gone)
