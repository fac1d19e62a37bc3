"""Moments as texts."""

from __future__ import annotations

from datetime import UTC, datetime


def rfc3339(seconds: float) -> str:
    """Seconds since 1970 as text; "" for 0, which stands for never."""
    return datetime.fromtimestamp(seconds, UTC).isoformat() if seconds else ""
