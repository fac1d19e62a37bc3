"""When bars of large transfers appear, and what they say."""

from __future__ import annotations

import io
import sys

import pytest
from attrs import define
from rich.console import Console
from rich.progress import Progress

from rain.client.display.transfer_bars import APPEARS_AFTER, TransferBars
from rain.stream.watching import Direction

MIB = 1 << 20


@define
class Clock:
    now: float = 100.0

    def __call__(self) -> float:
        return self.now


@define
class Screen:
    """A terminal, and bars on it."""

    shown: io.StringIO
    clock: Clock
    bars: TransferBars

    @classmethod
    def new(cls, *, is_terminal: bool = True) -> Screen:
        shown, clock = io.StringIO(), Clock()
        console = Console(file=shown, force_terminal=is_terminal, width=80)
        return cls(shown, clock, TransferBars(clock, console))

    @property
    def text(self) -> str:
        return self.shown.getvalue()

    def receive(self, *moved: int, each: float = APPEARS_AFTER, length: int = 64 * MIB) -> None:
        """One transfer that tells of these bytes."""
        with self.bars.watching(Direction.RECEIVING, length) as note:
            assert note is not None
            for one in moved:
                self.clock.now += each
                note(one)


def test_a_transfer_that_lasts_has_a_bar() -> None:
    screen = Screen.new()
    screen.receive(16 * MIB, 48 * MIB)
    assert "receiving" in screen.text
    assert "16MiB of 64MiB" in screen.text
    assert "48MiB of 64MiB" in screen.text


def test_one_that_is_over_soon_has_none() -> None:
    screen = Screen.new()
    screen.receive(16 * MIB, 48 * MIB, 64 * MIB, each=APPEARS_AFTER / 4)
    screen.receive(64 * MIB, each=APPEARS_AFTER / 4)  # another one: the time begins again
    assert screen.text == ""


def test_many_notes_are_few_drawings() -> None:
    screen = Screen.new()
    screen.receive(MIB, each=APPEARS_AFTER)
    once = len(screen.text)
    screen = Screen.new()
    with screen.bars.watching(Direction.RECEIVING, 64 * MIB) as note:
        assert note is not None
        screen.clock.now += APPEARS_AFTER
        for _ in range(1000):
            note(MIB)
    assert len(screen.text) == once


def test_several_transfers_in_one_direction_have_one_bar_with_their_sum() -> None:
    screen = Screen.new()
    watching = screen.bars.watching
    with (
        watching(Direction.RECEIVING, 64 * MIB) as first,
        watching(Direction.RECEIVING, 32 * MIB) as second,
    ):
        assert first is not None
        assert second is not None
        first(60 * MIB)
        screen.clock.now += APPEARS_AFTER
        second(2 * MIB)
    assert "62MiB of 96MiB" in screen.text


def test_what_ends_without_moving_counts_as_done() -> None:
    screen = Screen.new()
    watching = screen.bars.watching
    with watching(Direction.SENDING, 64 * MIB) as first:
        with watching(Direction.SENDING, 32 * MIB):
            pass  # the server of this machine has linked to the file
        assert first is not None
        screen.clock.now += APPEARS_AFTER
        first(10 * MIB)
    assert "42MiB of 96MiB" in screen.text


def test_each_direction_has_a_bar_of_its_own() -> None:
    screen = Screen.new()
    with screen.bars.watching(Direction.SENDING, 32 * MIB) as note:
        assert note is not None
        screen.clock.now += APPEARS_AFTER
        note(8 * MIB)
        screen.receive(16 * MIB)
        screen.clock.now += 1
        note(9 * MIB)
    assert "8MiB of 32MiB" in screen.text
    assert "16MiB of 64MiB" in screen.text
    _, after = screen.text.rsplit("16MiB of 64MiB", 1)
    assert "9MiB of 32MiB" in after
    assert "receiving" not in after


def test_an_object_that_begins_anew_has_moved_less() -> None:
    screen = Screen.new()
    screen.receive(48 * MIB, 16 * MIB)
    assert screen.text.index("48MiB of") < screen.text.index("16MiB of")


def test_more_bytes_than_were_told_before_are_the_sum() -> None:
    screen = Screen.new()
    screen.receive(80 * MIB)  # the archive of a folder with many small files
    assert "80MiB of 80MiB" in screen.text


def test_where_nobody_sees_it_nothing_is_drawn() -> None:
    screen = Screen.new(is_terminal=False)
    screen.receive(16 * MIB, 48 * MIB)
    assert screen.text == ""


def test_without_a_terminal_nobody_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for stderr in (io.StringIO(), None):
        monkeypatch.setattr(sys, "stderr", stderr)
        with TransferBars().watching(Direction.RECEIVING, 64 * MIB) as note:
            assert note is None


def test_bars_of_the_program_stay_alone() -> None:
    screen = Screen.new()
    own = Console(file=io.StringIO(), force_terminal=True)
    with Progress(console=own, auto_refresh=False):
        screen.receive(16 * MIB, 48 * MIB)
    assert screen.text == ""


def test_the_streams_of_the_program_stay_as_they_are() -> None:
    screen = Screen.new()
    before = sys.stdout, sys.stderr
    with screen.bars.watching(Direction.RECEIVING, 64 * MIB) as note:
        assert note is not None
        screen.clock.now += APPEARS_AFTER
        note(MIB)
        assert "receiving" in screen.text
        assert (sys.stdout, sys.stderr) == before


class Gone(io.StringIO):
    """A terminal whose window was closed."""

    def write(self, _: str) -> int:
        raise OSError(5, "Input/output error")


def test_a_terminal_that_has_gone_does_not_end_a_transfer() -> None:
    screen = Screen.new()
    console = Console(file=Gone(), force_terminal=True, width=80)
    gone = Screen(screen.shown, screen.clock, TransferBars(screen.clock, console))
    gone.receive(16 * MIB, 48 * MIB)
    gone.receive(16 * MIB)
