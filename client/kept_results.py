"""Keeps the results of all calls in a folder: `Client(folder=...)`.

The folder is a cache of results (`rain.cache`) that is used for every call. So a program that was
killed and runs again finds what it had computed. Equal calls are numbered in their order: a program
that calls a random function ten times gets ten results, and finds each of them again.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from attrs import evolve

from rain.client.cached.plans import CACHE_KEY
from rain.client.cached.values import value_digest
from rain.client.data import DataObject
from rain.client.options import Options
from rain.common.errors import RainException


class KeptResults:
    """The folder, locked for this program, and what it has called."""

    def __init__(self, folder: object) -> None:
        if not isinstance(folder, str | PurePath) or not str(folder):
            raise RainException(f"folder is the path of a folder, not {folder!r}")
        self.folder = Path(folder).expanduser().absolute()
        self._results = str(self.folder / "results")
        self._lock = _locked(self.folder)
        self._called: dict[str, int] = {}  # how often, by all that is known of a call
        self._options: dict[Options, Options] = {}

    def keeping(self, options: Options) -> Options:
        """The options with a cache in the folder, unless results depend on an initializer, or are
        kept elsewhere.
        """
        if options.cache or options.surrounding is not None:
            return options
        known = self._options.get(options)
        if known is None:
            known = self._options[options] = evolve(options, cache=self._results)
        return known

    def tell_apart(
        self, plan: dict[str, Any], inputs: Sequence[DataObject], options: Options
    ) -> Mapping[str, Any]:
        """The cache plan of a call, with a number that tells it from equal calls before it."""
        if options.cache == self._results:
            told: list[tuple[str, int]] = plan["inputs"]
            reads = [(words, inputs[index].packed_id) for words, index in told]
            call = value_digest([plan["name"], plan["parts"], reads])
            number = self._called[call] = self._called.get(call, 0) + 1
            if number > 1:
                plan["parts"].append((CACHE_KEY, value_digest(number)))
        return plan

    def close(self) -> None:
        """Other programs may use the folder."""
        lock, self._lock = self._lock, None
        if lock is not None:
            os.close(lock)


def _locked(folder: Path) -> int | None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        raise RainException(f"the folder {folder} cannot be used: it is a file") from None
    except OSError as error:
        raise RainException(f"the folder {folder} cannot be used: {error.strerror}") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:  # the program that has locked it has written its pid
        said = os.pread(lock, 20, 0).decode(errors="replace").strip()
        os.close(lock)
        if said == str(os.getpid()):
            why = "another client of this program: close that first"
        else:
            why = f"process {said}: wait for its end"
        raise RainException(
            f"the folder {folder} is in use by {why}, or give another folder"
        ) from None
    os.truncate(lock, 0)
    os.pwrite(lock, b"%d\n" % os.getpid(), 0)
    return lock
