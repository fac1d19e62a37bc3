"""Asks caches and fills them, in a few threads.

Both wait for disks, perhaps for those of other machines. A thread takes everything that is queued,
so that many short pieces of work cost few thread switches.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path

import outcome
from structlog.typing import FilteringBoundLogger

from rain.base.caching import TAKEN, Key
from rain.base.kinds import TaskKind
from rain.cache.contents import Digests
from rain.cache.digests import digest_of, digest_of_texts
from rain.cache.entries import KeptOutput, Output
from rain.cache.errors import CacheError
from rain.cache.folder import CacheFolder, FoundEntry
from rain.cache.places import open_place
from rain.cache.plan import read_plan
from rain.governor.core.effects import BuiltinInput, KeepOutputs, LookUp
from rain.governor.core.events import Event, LookedUp, OutputsKept, Tell
from rain.governor.core.results import Content, Made, Outputs
from rain.governor.storage.errors import StoreError
from rain.governor.storage.store import Store
from rain.rpc.background import Background

THREADS = 4
AT_ONCE = 64
"""Look-ups or results that a thread takes at a time."""

_Work = Callable[[], Event]


class CacheWork:
    """Carries out `LookUp` and `KeepOutputs`."""

    def __init__(
        self,
        store: Store,
        background: Background,
        tell: Tell,
        log: FilteringBoundLogger,
        most: int | None,
    ) -> None:
        self._store = store
        self._background = background
        self._tell = tell
        self._log = log
        self._most = most
        self._digests = Digests()
        self._folders: dict[str, CacheFolder] = {}
        self._opening = threading.Lock()
        self._waiting: deque[_Work] = deque()
        self._threads = 0
        self._is_closed = False
        self._keeping = 0  # results that are not kept yet
        self._all_kept = threading.Condition()

    def look_up(self, effect: LookUp) -> None:
        """Asks for the outputs of a task."""
        self._add(lambda: self._look_up(effect))

    def keep(self, effect: KeepOutputs) -> None:
        """Keeps the outputs of a task."""
        with self._all_kept:
            self._keeping += 1
        self._add(lambda: self._keep(effect))

    def close(self) -> None:
        """Drops the open questions; results that were handed over are still kept."""
        self._is_closed = True

    def join(self) -> None:
        """Blocks until all results that were handed over are kept; call it after `close`."""
        while self._waiting:
            self._work()
        with self._all_kept:
            self._all_kept.wait_for(lambda: not self._keeping)

    # Threads.

    def _add(self, work: _Work) -> None:
        self._waiting.append(work)
        self._go_on()

    def _go_on(self) -> None:
        if self._waiting and self._threads < THREADS:
            self._threads += 1
            self._background.in_thread(self._work, self._done)

    def _work(self) -> list[Event]:
        done: list[Event] = []
        while len(done) < AT_ONCE:
            try:
                work = self._waiting.popleft()
            except IndexError:
                break
            done.append(work())
        return done

    def _done(self, result: outcome.Outcome[list[Event]]) -> None:
        self._threads -= 1
        for event in result.unwrap():  # an error in our thread is our bug
            self._tell(event)
        self._go_on()

    def _folder(self, word: str) -> CacheFolder:
        with self._opening:
            folder = self._folders.get(word)
            if folder is None:
                folder = CacheFolder(open_place(word), self._digests, self._most)
                self._folders[word] = folder
            return folder

    def _open_again(self, word: str) -> None:
        """Something is wrong with a folder, which may have been removed: it is made again."""
        with self._opening:
            self._folders.pop(word, None)

    # Looking up.

    def _look_up(self, effect: LookUp) -> LookedUp:
        if self._is_closed:
            return LookedUp(effect.asked, None, "ran: the governor ends")
        try:
            folder = self._folder(effect.kind.cache)
            key = self._key(effect)
            found = folder.find(key)
            if isinstance(found, str):
                return LookedUp(effect.asked, None, f"ran: {found}", key)
            outputs = self._outputs(found, effect.kind)
        except (CacheError, StoreError, OSError) as error:  # whatever the disk or its rights refuse
            self._open_again(effect.kind.cache)
            self._log.warning("cache not used", task=effect.kind.name, reason=str(error))
            return LookedUp(effect.asked, None, f"ran: {error}")
        return LookedUp(effect.asked, outputs, TAKEN)

    def _key(self, effect: LookUp) -> Key:
        plan = read_plan(effect.config, len(effect.inputs))
        try:
            contents = [self._digest(effect.inputs[index]) for _, index in plan.inputs]
        except OSError as error:  # also when the task was stopped and they are gone
            raise CacheError(f"an input cannot be read: {error.strerror}") from None
        return plan.key(effect.kind.task_type, contents)

    def _digest(self, given: BuiltinInput) -> str:
        """A part of the key for an input: its content, and what a function would take it for."""
        content = given.content
        if isinstance(content, bytes):
            digest = digest_of(content)
        else:
            digest = self._digests.of(self._store.path(content))
        return digest_of_texts(digest, given.content_type or given.kind.content_type)

    def _outputs(self, found: FoundEntry, kind: TaskKind) -> Outputs:
        entry = found.entry
        if len(entry.outputs) != len(kind.outputs):
            raise CacheError(f"{found.path} has {len(entry.outputs)} outputs")
        outputs: Outputs = []
        try:
            for place, kept in enumerate(entry.outputs):
                outputs.append(self._output(found.place_of(place), kept))
        except StoreError:
            self._store.discard(outputs)
            raise
        return outputs

    def _output(self, place: Path, kept: KeptOutput) -> bytes | Made:
        content = (
            self._store.take_in(place, kept.size)
            if kept.data is None
            else self._store.keep(kept.data)
        )
        if isinstance(content, bytes) and not (kept.content_type or kept.user):
            return content
        return Made(content, kept.content_type, kept.user)

    # Keeping.

    def _keep(self, effect: KeepOutputs) -> OutputsKept:
        try:
            outputs = [
                Output(self._place(row.content), row.content_type, row.user, row.size)
                for row in effect.outputs
            ]
            self._folder(effect.folder).add(effect.key, effect.seconds, outputs)
        except (CacheError, OSError) as error:
            self._open_again(effect.folder)
            self._log.warning("result not kept", task=effect.key.name, reason=str(error))
        finally:
            with self._all_kept:
                self._keeping -= 1
                self._all_kept.notify_all()
        return OutputsKept(effect.number)

    def _place(self, content: Content) -> bytes | Path:
        return content if isinstance(content, bytes) else self._store.path(content)
