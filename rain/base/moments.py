"""Formats points in time as in RFC 3339."""

from __future__ import annotations

from datetime import UTC, datetime


def rfc3339(seconds: float) -> str:
    """Formats seconds since 1970; "" for 0, which means never."""
    return datetime.fromtimestamp(seconds, UTC).isoformat() if seconds else ""
