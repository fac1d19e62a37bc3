"""Examples of docstrings as code: Markdown would take the `>>>` of a doctest for a quotation."""

from __future__ import annotations

PROMPT = ">>> "


def as_code(text: str) -> str:
    """The docstring with a fence around each example, which ends with an empty line."""
    lines: list[str] = []
    inside = False
    for line in text.splitlines():
        if not inside and line.startswith(PROMPT):
            inside = True
            lines.append("```pycon")
        elif inside and not line.strip():
            inside = False
            lines.append("```")
        lines.append(line)
    return "\n".join([*lines, "```"] if inside else lines)
