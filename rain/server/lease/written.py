"""Writes and reads a lease as text, for stores that keep text."""

from __future__ import annotations

import json
from typing import Any

from attrs import asdict

from rain.server.lease.rules import NOBODY, LeaseHolder, Record
from rain.server.lease.store import LeaseStoreError


def written(record: Record) -> str:
    return json.dumps(asdict(record))


def read(text: str | bytes) -> Record:
    """Raises ValueError if that is no lease, or not a whole one."""
    try:
        said: dict[str, Any] = json.loads(text)
        holder: dict[str, Any] = said.pop("holder")
        return Record(holder=LeaseHolder(**holder), **said)
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"no lease: {error}") from error


class AsRead:
    """The text of records in a place that compares text.

    What another release has written may look different here, so what was read is compared as it
    was.
    """

    def __init__(self) -> None:
        self._record = NOBODY
        self._text = ""

    def read(self, text: str, where: str) -> Record:
        try:
            self._record, self._text = read(text), text
        except ValueError as error:
            raise LeaseStoreError(f"what is in {where} is {error}") from error
        return self._record

    def of(self, record: Record) -> str:
        return self._text if record == self._record and self._text else written(record)
