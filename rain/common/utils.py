"""Formats texts and sizes for people."""

KIBI = 1024


def short_str(value: object, limit: int = 60) -> str:
    """The text of a value, shortened in the middle if it is too long."""
    text = str(value)
    if len(text) <= limit:
        return text
    head = (limit - 3) * 2 // 3
    tail = limit - 3 - head
    return f"{text[:head]}...{text[len(text) - tail :]}"


def format_size(size: int) -> str:
    """Formats a number of bytes."""
    if size < KIBI:
        return f"{size} B"
    amount = float(size)
    for unit in ("KiB", "MiB", "GiB"):
        amount /= KIBI
        if amount < KIBI:
            return f"{amount:.1f} {unit}"
    return f"{amount / KIBI:.1f} TiB"
