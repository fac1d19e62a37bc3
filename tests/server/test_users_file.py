"""The file that says what users may do."""

from __future__ import annotations

from pathlib import Path

import pytest

from rain.base.errors import StartError
from rain.base.users import UserRule
from rain.server.users_file import parse_users, read_users


def test_a_file_has_rules_for_users_the_owner_and_all_others() -> None:
    said = """
        [default]
        locked = true
        [users.ada]
        admin = true
        weight = 2
        tasks = 10
        [users."bob@example.org"]
    """
    assert parse_users(said) == (
        UserRule("*", locked=True),
        UserRule("ada", admin=True, weight=2.0, tasks=10),
        UserRule("bob@example.org"),
    )
    assert parse_users("") == ()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[user.ada]", "'user' is not known: there are the tables"),
        ("[users]\nada = 3", r"\[users.ada\] has to be a table"),
        ("users = 3", r"\[users\] has to be a table"),
        (
            "[users.ada]\nadmn = true",
            r"\[users.ada\] has 'admn'; it may have admin, locked",
        ),
        ("[users.ada]\nadmin = 1", r"\[users.ada\] admin is true or false, not 1"),
        ("[users.ada]\nweight = 0", r"\[users.ada\] weight is a number above 0, not 0"),
        ("[users.ada]\ntasks = -1", "tasks is a whole number, or 0 for no limit, not -1"),
        ("[users.ada]\ntasks = true", "tasks is a whole number, or 0 for no limit, not True"),
        ('[users."a/b"]', "the name 'a/b' may have letters"),
        ("[owner]\nlocked = true", r"\[owner\] cannot be locked"),
        ("[users", "at the end of a table declaration"),
    ],
)
def test_a_mistake_is_told_with_its_place(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse_users(text)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(StartError, match=r"users\.toml cannot be read: No such file"):
        read_users(tmp_path / "users.toml")
    (tmp_path / "users.toml").write_bytes(b"\xff")
    with pytest.raises(StartError, match="it is not UTF-8"):
        read_users(tmp_path / "users.toml")
