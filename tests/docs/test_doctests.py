"""Examples of docstrings are code on the pages of the API (docs/doctests.py)."""

from docs.doctests import as_code


def test_an_example_is_fenced_up_to_the_next_empty_line() -> None:
    text = "Adds.\n\n>>> add(1,\n...     2)\n[3]\n\nArgs:\n    a: a number."

    assert as_code(text) == (
        "Adds.\n\n```pycon\n>>> add(1,\n...     2)\n[3]\n```\n\nArgs:\n    a: a number."
    )


def test_an_example_at_the_end_is_fenced_too() -> None:
    assert as_code("Adds.\n\n>>> add(1, 2)\n3") == "Adds.\n\n```pycon\n>>> add(1, 2)\n3\n```"


def test_a_text_without_an_example_stays() -> None:
    assert as_code("Adds.\n\nArgs:\n    a: a number.") == "Adds.\n\nArgs:\n    a: a number."
