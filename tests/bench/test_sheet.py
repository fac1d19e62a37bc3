"""One table, shown in two ways."""

from bench.sheet import Sheet

SHEET = Sheet("Speeds", ("who|what", "rain"), (("round trip", "1.5"),), caption="Medians.")


def test_a_sheet_is_markdown_that_can_be_pasted() -> None:
    assert SHEET.markdown().splitlines() == [
        "| who\\|what | rain |",
        "|---|---:|",
        "| round trip | 1.5 |",
        "",
        "Medians.",
    ]


def test_words_stand_left_and_figures_right() -> None:
    table = SHEET.table()

    assert [column.justify for column in table.columns] == ["left", "right"]
