"""A lease as text, for places that keep text."""

from __future__ import annotations

import json
from typing import Any

from attrs import asdict

from rain.server.lease.rules import Holder, Record


def written(record: Record) -> str:
    return json.dumps(asdict(record))


def read(text: str | bytes) -> Record:
    """Raises ValueError if that is no lease, or not a whole one."""
    try:
        said: dict[str, Any] = json.loads(text)
        holder: dict[str, Any] = said.pop("holder")
        return Record(holder=Holder(**holder), **said)
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"no lease: {error}") from error
