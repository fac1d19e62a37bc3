"""Sends the functions of a session: each once, and again when a captured value changes."""

from collections.abc import Callable
from functools import partial
from hashlib import blake2b
from pickle import PickleBuffer
from typing import TYPE_CHECKING, Any

from rain.client.brought.captured import Captured
from rain.client.brought.imports import own_imports
from rain.client.cached.sameness import key_of_function
from rain.client.cached.values import value_digest
from rain.client.data import DataObject
from rain.client.handles import constant_object
from rain.client.sent.arguments import LARGEST_PICKLE
from rain.client.sent.reloads import reloads
from rain.client.shapes import ObjectShape
from rain.client.staging import staged
from rain.client.submission import Same
from rain.common.by_value import dumps
from rain.common.class_versions import dumps_with_versions
from rain.common.imports import told_imports, working_folder
from rain.common.log_settings import log_settings
from rain.common.number_settings import number_settings
from rain.common.pickles import PICKLE_PROTOCOL, dump_parts, length_of
from rain.common.references import finding_references
from rain.common.sameness import FUNCTION

if TYPE_CHECKING:
    from rain.client.brought.packing import PackedModules
    from rain.client.session import Session


class SentFunction:
    """One function as it was when it was sent; the function itself is not kept alive."""

    __slots__ = (
        "_captured",
        "_code",
        "_digest",
        "_is_large",
        "_refusals",
        "_reloads",
        "_same",
        "_settings",
        "_submits",
        "_uploads",
        "generator",
        "inputs",
    )

    def __init__(
        self,
        session: "Session",
        fn: Callable[..., Any],
        name: str,
        around: Callable[[Callable[..., Any]], Callable[..., Any]] | None = None,
    ) -> None:
        reloads.watch()
        self._reloads = reloads.count
        self._code = ""
        self._same: Same | None = None
        captured = self._captured = Captured(fn)
        self.generator = captured.generator
        with finding_references() as found:
            called = fn if around is None else around(fn)
            parts = dump_parts(dumps_with_versions, called, PICKLE_PROTOCOL)
        self._is_large = length_of(parts) > LARGEST_PICKLE
        self._submits = session.submits
        self._refusals = session.refusals
        self._digest = _digest(fn) if captured.can_change else b""
        self._uploads = _uploads_of(session)
        imports = own_imports(self._uploads, captured.imported)
        self._settings = imports.logging, imports.numbers, imports.folder
        shape = ObjectShape(name, FUNCTION)
        data = staged(session, [*parts, told_imports(imports)])
        obj = constant_object(session, shape, data, found)
        obj.keep()
        self.inputs: tuple[DataObject] = (obj,)

    def digest(self, fn: Callable[..., Any]) -> str:
        """The digest of what the function does, as it was sent; computed on demand."""
        if not self._code:
            self._code = value_digest(self._with_numbers(fn))
        return self._code

    def same(self, fn: Callable[..., Any]) -> Same:
        """The key that tells whether a function of another run is the same; computed on demand."""
        if self._same is None:
            self._same = key_of_function(self._with_numbers(fn))
        return self._same

    def _with_numbers(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """The function, and how it calculates where that is not as usual: it has other results."""
        _, numbers, _ = self._settings
        return fn if numbers is None else partial(fn, numbers)

    def is_current(self, session: "Session", fn: Callable[..., Any]) -> bool:
        """Whether sending the function again would send the same.

        Values that can change in place are compared for each call; if they are large, for the first
        call after each submit.
        """
        if self._uploads is not _uploads_of(session) or self._reloads != reloads.count:
            return False
        if self._refusals != session.refusals:  # it may have been refused with its submission
            return False
        if self._settings != (log_settings(), number_settings(), working_folder()):
            return False
        if not self._captured.is_as_it_was():
            return False
        if not self._digest:
            return True
        if self._is_large:
            if self._submits == session.submits:
                return True
            self._submits = session.submits
        return _digest(fn) == self._digest


def _digest(fn: Callable[..., Any]) -> bytes:
    """That of the pickle of a function. Large buffers in it are not copied for that."""
    digest = blake2b(digest_size=16)

    def stays_inside(buffer: PickleBuffer) -> bool:
        try:
            digest.update(buffer.raw())
        except BufferError:  # it is not contiguous
            return True
        return False

    pickled = dumps(fn, PICKLE_PROTOCOL, stays_inside)
    digest.update(pickled)
    return digest.digest()


def _uploads_of(session: "Session") -> "tuple[PackedModules, ...]":
    """The uploads of a session's client so far."""
    return () if session.client is None else session.client.uploads.current
