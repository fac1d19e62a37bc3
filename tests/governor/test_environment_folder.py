"""Folders of environments: made once, shared, and removed when nobody uses them."""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path

import pytest

from rain.base.environment import FILES, VARIABLE, Environment
from rain.common.fs import pack_tree
from rain.governor.environments.folder import (
    FAILURES_KEPT,
    LIMIT,
    MARK,
    EnvironmentFolder,
    MadeEnvironment,
    clear_remains,
    kept_environments,
    shrink,
)

ENVIRONMENT = Environment((), (), "1234")
CONTENT = pack_tree({"module.py": "VALUE = 1\n"})


def opened(root: Path, environment: Environment = ENVIRONMENT) -> EnvironmentFolder:
    folder = EnvironmentFolder(root, environment)
    folder.open()
    return folder


def made(root: Path, digest: str = "1234", content: bytes = CONTENT) -> EnvironmentFolder:
    """One that is held."""
    folder = opened(root, Environment((), (), digest))
    assert folder.is_there() is False
    folder.begin(content, None)
    folder.finish(LIMIT)
    return folder


def names(root: Path) -> list[str]:
    return [one.name for one in kept_environments(root)]


def test_who_comes_first_makes_it_and_others_wait_and_share_it(tmp_path: Path) -> None:
    # given
    first, second, third = (opened(tmp_path) for _ in range(3))
    assert first.is_there() is False
    # when: it is being made
    first.begin(CONTENT, None)
    assert [second.is_there(), third.is_there()] == [None, None]
    first.finish(LIMIT)
    # then
    assert [second.is_there(), third.is_there()] == [True, True]
    assert (third.path / "files" / "module.py").read_text() == "VALUE = 1\n"
    for folder in (first, second, third):
        folder.give_up()
    assert names(tmp_path) == [first.path.name]


def test_who_gives_up_leaves_it_to_the_next(tmp_path: Path) -> None:
    first, second = opened(tmp_path), opened(tmp_path)
    assert first.is_there() is False
    first.begin(CONTENT, None)
    first.give_up()
    assert not first.path.exists()
    assert second.is_there() is False
    second.give_up()


def test_what_a_killed_governor_has_left_is_made_anew(tmp_path: Path) -> None:
    folder = opened(tmp_path)
    folder.path.mkdir()
    (folder.path / "half").touch()
    assert folder.is_there() is False
    assert not folder.path.exists()
    folder.give_up()


def test_room_is_made_by_those_that_nobody_uses_the_oldest_first(tmp_path: Path) -> None:
    # given: of three, one is in use
    folders = [made(tmp_path, digest) for digest in "abc"]
    for age, folder in zip((30, 20, 10), folders, strict=True):
        os.utime(folder.path / MARK, (age, age))
    os.utime(folders[0].path / MARK, (10, 10))
    os.utime(folders[2].path / MARK, (30, 30))
    for folder in folders[1:]:
        folder.give_up()
    (size,) = {one.size for one in kept_environments(tmp_path)}
    # when, then
    assert shrink(tmp_path, 3 * size) == []
    assert shrink(tmp_path, 2 * size) == [folders[1].path.name]
    assert shrink(tmp_path, 0) == [folders[2].path.name]
    assert names(tmp_path) == [folders[0].path.name]
    folders[0].give_up()
    assert shrink(tmp_path, 0) == [folders[0].path.name]


def test_variables_are_added_and_files_come_first_on_the_path(tmp_path: Path) -> None:
    environment = Environment((), (("LEVEL", "loud"),), "1234")
    found = MadeEnvironment(environment, tmp_path)
    variables = found.added_to({"HOME": "/home/user", "PYTHONPATH": "/theirs"})
    assert variables["LEVEL"] == "loud"
    assert variables["HOME"] == "/home/user"
    assert variables[FILES] == str(tmp_path / "files")
    assert variables[VARIABLE] == environment.text
    path = variables["PYTHONPATH"].split(os.pathsep)
    assert (path[0], path[-1]) == (variables[FILES], "/theirs")
    assert found.python == sys.executable


def test_packages_of_the_environment_come_before_those_of_the_governor(tmp_path: Path) -> None:
    found = MadeEnvironment(Environment(("six",)), tmp_path)
    variables = found.added_to({"PATH": "/usr/bin"})
    assert found.python == str(tmp_path / "venv" / "bin" / "python")
    assert "PYTHONPATH" not in variables
    of_governor = sysconfig.get_path("scripts")
    assert variables["PATH"] == f"{tmp_path}/venv/bin:{of_governor}:/usr/bin"
    given = f"/first:{of_governor}:/last"
    assert found.added_to({"PATH": given})["PATH"] == f"{tmp_path}/venv/bin:{given}"


def test_programs_find_the_files_and_not_the_packages_of_the_governor(tmp_path: Path) -> None:
    found = MadeEnvironment(Environment((), (), "1234"), tmp_path)
    variables = found.added_to({}, for_rain=False)
    assert variables["PYTHONPATH"] == variables[FILES] == str(tmp_path / "files")
    plain = MadeEnvironment(Environment((), (("A", "1"),)), None)
    assert "PYTHONPATH" not in plain.added_to({}, for_rain=False)


def test_packages_are_installed_from_the_wheels_and_nothing_else_is_asked(tmp_path: Path) -> None:
    folder = EnvironmentFolder(tmp_path, Environment(("six",), (), "", "5678"))
    _, install = folder.steps()
    assert install[-3:] == ["--no-index", "--find-links", str(folder.path / "wheels")]
    assert "--no-index" not in EnvironmentFolder(tmp_path, Environment(("six",))).steps()[1]


@pytest.mark.parametrize("environment", [ENVIRONMENT, Environment((), (("A", "1"),))])
def test_without_packages_nothing_is_installed(tmp_path: Path, environment: Environment) -> None:
    assert EnvironmentFolder(tmp_path, environment).steps() == []


def failed(root: Path, digest: str, at: int) -> None:
    """An environment that could not be made, and what pip has said."""
    folder = opened(root, Environment((), (), digest))
    assert folder.is_there() is False
    folder.begin(CONTENT, None)
    folder.log.write_text(f"no {digest}\n")
    os.utime(folder.log, (at, at))
    folder.give_up()


def test_of_environments_that_could_not_be_made_the_last_logs_stay(tmp_path: Path) -> None:
    kept = made(tmp_path)
    for number in range(FAILURES_KEPT + 5):
        failed(tmp_path, f"failed{number}", at=number)
    last = made(tmp_path, "last")
    logs = {file.read_text() for file in tmp_path.glob("*.log")}
    assert logs == {f"no failed{number}\n" for number in range(5, FAILURES_KEPT + 5)}
    assert len([*tmp_path.glob("*.lock")]) == FAILURES_KEPT + 2
    assert names(tmp_path) == [kept.path.name, last.path.name]
    for folder in (kept, last):
        folder.give_up()


def test_the_log_of_another_try_is_not_behind_that_of_the_first_one(tmp_path: Path) -> None:
    failed(tmp_path, "a", at=1)
    failed(tmp_path, "a", at=2)
    assert [file.read_text() for file in tmp_path.glob("*.log")] == ["no a\n"]


def test_a_lock_that_was_removed_while_somebody_waited_for_it_holds_nothing(
    tmp_path: Path,
) -> None:
    waits = opened(tmp_path)
    clear_remains(tmp_path)  # nobody makes it
    first = opened(tmp_path)
    assert first.is_there() is False  # by another lock
    assert waits.is_there() is None
    assert waits.is_there() is None  # by the same one
    first.give_up()
    assert waits.is_there() is False
    waits.give_up()


def test_what_is_being_made_is_not_cleared(tmp_path: Path) -> None:
    folder = opened(tmp_path)
    assert folder.is_there() is False
    folder.begin(CONTENT, None)
    clear_remains(tmp_path)
    folder.finish(LIMIT)
    assert names(tmp_path) == [folder.path.name]
    folder.give_up()
