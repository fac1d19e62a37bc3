"""How the logging of a program is told and taken over."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

from rain.common.log_settings import NAME, LogSettings, apply, forget_default, log_settings
from tests.support.root_logger import fresh_root_logger


@fresh_root_logger()
def test_who_has_set_nothing_tells_nothing() -> None:
    assert log_settings() is None


@fresh_root_logger()
def test_level_format_and_stream_of_basic_config_are_told() -> None:
    logging.basicConfig(
        level=logging.DEBUG, format="{message}", datefmt="%H", style="{", stream=sys.stdout
    )
    assert log_settings() == LogSettings(logging.DEBUG, "{message}", "%H", "{", to_stdout=True)


@fresh_root_logger()
def test_of_other_handlers_only_the_level_is_told_unless_it_is_pythons_own(tmp_path: Path) -> None:
    with_file = logging.FileHandler(tmp_path / "log")
    logging.root.addHandler(with_file)
    assert log_settings() is None
    logging.root.setLevel(logging.INFO)
    assert log_settings() == LogSettings(logging.INFO)
    with_file.close()


@fresh_root_logger()
def test_what_was_told_is_told_again_by_who_has_taken_it_over() -> None:
    told = LogSettings(logging.INFO, "$message", None, "$")
    apply(told)
    assert log_settings() == told


@fresh_root_logger()
def test_settings_take_the_place_of_others_and_leave_nothing_behind() -> None:
    apply(LogSettings(logging.INFO))
    apply(LogSettings(logging.DEBUG))
    assert [handler.name for handler in logging.root.handlers] == [NAME]
    assert logging.root.level == logging.DEBUG
    apply(None)
    assert logging.root.handlers == []
    assert logging.root.level == logging.WARNING


@fresh_root_logger()
def test_levels_of_single_loggers_are_told_and_go_with_their_program() -> None:
    quiet = logging.getLogger("tests.quiet")
    quiet.setLevel(logging.ERROR)
    assert log_settings() is None
    logging.basicConfig(level=logging.INFO)
    told = log_settings()
    assert told is not None
    assert ("tests.quiet", logging.ERROR) in told.levels
    logging.root.handlers = []
    quiet.setLevel(logging.NOTSET)  # as in the process of a task
    apply(told)
    assert quiet.level == logging.ERROR
    apply(LogSettings(logging.INFO, levels=(("tests.other", logging.DEBUG),)))
    assert quiet.level == logging.NOTSET
    assert logging.getLogger("tests.other").level == logging.DEBUG
    apply(None)
    assert logging.getLogger("tests.other").level == logging.NOTSET


@fresh_root_logger()
def test_a_process_that_has_set_up_its_own_logging_keeps_it() -> None:
    logging.basicConfig(level=logging.ERROR)
    own = logging.root.handlers[0]
    apply(LogSettings(logging.INFO))
    assert logging.root.handlers == [own]
    assert logging.root.level == logging.ERROR


@fresh_root_logger()
def test_only_the_handler_that_python_has_added_by_itself_is_forgotten() -> None:
    logging.warning("nobody has set anything")  # noqa: LOG015 # as users do
    assert logging.root.handlers
    forget_default()
    assert logging.root.handlers == []
    logging.basicConfig(format="%(message)s")
    forget_default()
    assert len(logging.root.handlers) == 1
