"""The page of the states is drawn from the tables."""

from __future__ import annotations

from docs.draw_states import PAGE, draw


def test_the_page_is_what_the_tables_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == draw(), "run: python -m docs.draw_states"
