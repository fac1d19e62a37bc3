"""What was printed, as text for people."""

import pytest

from rain.common.printed import KeptText, readable, text_of


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        ("tidy\tlines\r\nß €".encode(), "tidy\tlines\r\nß €"),
        (b"\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m"),
        (b"\x00\x01\x07\x0e", "\ufffd" * 4),  # \x0e makes a terminal show line graphics
        (b"\x1b]0;title\x07 \x1bc", "\ufffd]0;title\ufffd \ufffdc"),
        (b"\xff\x9b\xc2\x9b", "\ufffd" * 3),
    ],
)
def test_what_is_no_text_does_not_change_how_a_terminal_shows_the_rest(
    printed: bytes, shown: str
) -> None:
    assert readable(printed) == shown
    assert text_of(KeptText(printed, len(printed))) == shown
