"""Tells versions of a class apart: another one when anything in it, or that it uses, has changed.

Other classes count by their identity only, as each has a version of its own. So a registry of many
classes is looked at once for each class, and not again for each that refers to it.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from hashlib import blake2b
from typing import Any, NoReturn

from rain.common.by_value import Pickler
from rain.common.pickles import PICKLE_PROTOCOL
from rain.common.script_main import make_class


class _Of(Pickler):
    """A pickler for one class, whose pickle nobody reads."""

    cls: type

    def reducer_override(self, obj: Any) -> Any:
        reduced = super().reducer_override(obj)
        is_other = obj is not self.cls and reduced is not NotImplemented
        if is_other and reduced[0] is make_class:
            return other, (reduced[1][0],)
        return reduced


def version_of(cls: type) -> bytes:
    """The version of a class that is sent by value."""
    with io.BytesIO() as target:
        pickler: Any = _Of(target, PICKLE_PROTOCOL)
        pickler.cls = cls
        pickler.dump(cls)
        return blake2b(target.getbuffer(), digest_size=8).digest()


def other(identity: str) -> NoReturn:
    """Stands in these pickles for another class."""
    raise TypeError(f"only the identity {identity} of the class is known")


class _WithVersions(Pickler):
    """The pickler of a function that is sent, whose classes are those of one version."""

    def version_of(self, cls: type) -> bytes:
        """As the class is now."""
        return version_of(cls)


def dumps_with_versions(
    value: Any, protocol: int, buffer_callback: Callable[[Any], Any] | None = None
) -> bytes:
    """The pickle of a function that is sent."""
    with io.BytesIO() as target:
        pickler: Any = _WithVersions(target, protocol, buffer_callback=buffer_callback)
        pickler.dump(value)
        return target.getvalue()
