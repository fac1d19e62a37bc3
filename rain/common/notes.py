"""Encodes the user's notes on a task or a data object as JSON for the wire."""

import json
from typing import Any

from rain.common.errors import RainException

NOTES_LIMIT = 1024 * 1024
"""Characters of the notes of one task or object, or of its content type."""


def encode_notes(user: dict[str, Any]) -> str:
    """The notes as JSON; refused by name if they are too long to travel with the news."""
    notes = json.dumps(user)
    if len(notes) > NOTES_LIMIT:
        raise RainException(
            f"the notes in info.user take {len(notes):,} characters, and the limit is"
            f" {NOTES_LIMIT:,}: return large data as an output"
        )
    return notes
