"""Reads the client's part of a cache key, and makes the complete key."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgpack
from attrs import frozen

from rain.base.caching import CONFIG_KEY, Key, Parts
from rain.cache.digests import digest_of_texts
from rain.cache.errors import CacheError

FORM = "rain cache 1"
"""A part of each key: changed when entries get another form or another meaning."""


@frozen
class KeyPlan:
    """What the client knows of a key."""

    name: str
    run: str
    parts: Parts
    inputs: tuple[tuple[str, int], ...]

    def key(self, kind: str, contents: Sequence[str]) -> Key:
        """The key of a task of this type; `contents` are the digests of the inputs of the plan.

        Several parts with the same words become one.
        """
        found: dict[str, list[str]] = {}
        for words, digest in self.parts:
            found.setdefault(words, []).append(digest)
        for (words, _), digest in zip(self.inputs, contents, strict=True):
            found.setdefault(words, []).append(digest)
        parts = tuple(
            (words, digests[0] if len(digests) == 1 else digest_of_texts(*digests))
            for words, digests in found.items()
        )
        flat = [text for part in parts for text in part]
        return Key(self.name, self.run, parts, digest_of_texts(FORM, kind, *flat))


def read_plan(config: bytes, inputs: int) -> KeyPlan:
    """The plan in the config of a task with `inputs` inputs: JSON, or msgpack for functions."""
    try:
        table = json.loads(config) if config[:1] == b"{" else msgpack.unpackb(config)
        given: dict[str, Any] = table[CONFIG_KEY]
        plan = KeyPlan(
            _text(given["name"]),
            _text(given["run"]),
            tuple((_text(words), _text(digest)) for words, digest in given["parts"]),
            tuple((_text(words), _index(index, inputs)) for words, index in given["inputs"]),
        )
    except (ValueError, TypeError, KeyError, msgpack.UnpackException) as error:
        raise CacheError(f"the task does not say what its key is made of: {error}") from None
    return plan


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.100} is no text")
    return value


def _index(value: Any, inputs: int) -> int:
    if not isinstance(value, int) or not 0 <= value < inputs:
        raise ValueError(f"{value!r:.100} is the index of none of {inputs} inputs")
    return value
