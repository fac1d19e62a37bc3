"""The page with all commands."""

from __future__ import annotations

from docs.command_page import command_page

PAGE = command_page()


def section(command: str) -> str:
    (found,) = [part for part in PAGE.split("\n#") if part.lstrip("#").startswith(f" {command}\n")]
    return found


def test_a_command_is_shown_with_its_options() -> None:
    assert "Usage: rain status [OPTIONS] [LOGDIR|ADDRESS]\n" in section("rain status")
    assert "  --json  " in section("rain status")
    assert "  -h, --help  " in section("rain status")
    assert "Usage: rain keys create " in section("rain keys create")


def test_commands_with_the_same_options_have_them_once() -> None:
    assert "  --governors N  " in section("rain start slurm")
    assert "  --governors N  " not in section("rain start lsf")
    assert "The options are those of `rain start slurm`." in section("rain start lsf")
    assert "Usage: rain start lsf " in section("rain start lsf")


def test_hidden_commands_are_left_out() -> None:
    assert "rain template" not in PAGE
