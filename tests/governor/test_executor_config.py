from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rain.base.errors import StartError
from rain.governor.executors.config import ConfigError, parse_executors, read_executors


def test_a_command_is_split_at_single_spaces_and_nothing_is_quoted() -> None:
    text = "[executors.cpp]\ncommand = \"prog --name 'a b'  x\""
    assert parse_executors(text) == {"cpp": ("prog", "--name", "'a", "b'", "", "x")}


def test_a_command_may_be_a_list_so_that_arguments_have_spaces() -> None:
    text = '[executors.cpp]\ncommand = ["prog", "one argument"]'
    assert parse_executors(text) == {"cpp": ("prog", "one argument")}


def test_the_executor_py_can_be_overridden() -> None:
    assert parse_executors('[executors.py]\ncommand = "mypy"') == {"py": ("mypy",)}


def test_an_empty_table_of_executors_is_allowed() -> None:
    assert parse_executors("[executors]") == {}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "the table [executors] is missing"),
        ("[executors", "it is not TOML"),
        ("executors = 1", "'executors' must be a table"),
        ("[executors]\n[logging]", "the file has the unknown 'logging'"),
        ("[executors]\ncpp = 1", "executors.cpp must be a table"),
        ("[executors.cpp]", "executors.cpp.command is missing"),
        ('[executors.cpp]\ncommand = "a"\ncomand = "b"', "executors.cpp has the unknown 'comand'"),
        ("[executors.cpp]\ncommand = 1", "executors.cpp.command must be a text or a list"),
        ("[executors.cpp]\ncommand = [1]", "executors.cpp.command must be a text or a list"),
        ("[executors.cpp]\ncommand = []", "executors.cpp.command names no program"),
        ('[executors.cpp]\ncommand = ""', "executors.cpp.command names no program"),
        ('[executors.cpp]\ncommand = "a\\u0000"', "without zero bytes"),
        ('[executors."a/b"]\ncommand = "a"', "'a/b' cannot be the name of an executor"),
        ('[executors.buildin]\ncommand = "a"', "run inside the governor"),
    ],
)
def test_mistakes_are_named(text: str, complaint: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parse_executors(text)
    assert complaint in str(raised.value)
    assert "\n" not in str(raised.value)


@given(st.text() | st.text("[]executors.cpp=\"' \n{}commandé1", max_size=60))
def test_whatever_the_text_is_only_a_named_error_is_raised(text: str) -> None:
    with suppress(ConfigError):
        parse_executors(text)


def test_a_program_with_a_slash_is_meant_from_the_folder_of_the_file(tmp_path: Path) -> None:
    config = tmp_path / "rain.toml"
    config.write_text('[executors.a]\ncommand = "./x y"\n[executors.b]\ncommand = "/bin/x ./y"\n')
    found = read_executors(config)
    assert found == {"a": (f"{tmp_path.resolve()}/x", "y"), "b": ("/bin/x", "./y")}


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    missing = tmp_path / "missing.toml"
    with pytest.raises(StartError, match=r"missing\.toml cannot be read: No such file"):
        read_executors(missing)
    broken = tmp_path / "broken.toml"
    broken.write_bytes(b"\xff")
    with pytest.raises(StartError, match=r"broken\.toml is not UTF-8"):
        read_executors(broken)
    broken.write_text("[executors.a]\n")
    with pytest.raises(StartError, match=r"broken\.toml is wrong: executors\.a\.command is"):
        read_executors(broken)


def test_without_a_file_there_are_no_executors_of_the_users_own() -> None:
    assert read_executors(None) == {}
