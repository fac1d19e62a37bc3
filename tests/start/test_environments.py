"""What is installed here and at governors, compared."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest
from attrs import evolve
from click.testing import CliRunner

from rain.base.environment import Environment
from rain.cli.env_command import env
from rain.common.fs import pack_tree
from rain.governor.environments.folder import LIMIT, EnvironmentFolder, own_environments
from rain.start.environments import Difference, Installed, as_text, differences, installed

HERE = Installed("3.12.1", {"numpy": "2.1.0", "six": "1.16.0", "attrs": "23.1"})
THERE = Installed("3.11.9", {"numpy": "1.26.4", "attrs": "23.1", "torch": "2.0"})


def test_what_is_missing_or_in_another_version_is_told_and_what_only_they_have_is_not() -> None:
    assert differences(HERE, HERE) == []
    assert differences(HERE, THERE) == [
        Difference("Python", "3.12.1", "3.11.9"),
        Difference("numpy", "2.1.0", "1.26.4"),
        Difference("six", "1.16.0", ""),
    ]


def test_only_what_is_named_is_compared() -> None:
    there = Installed("3.12.1", THERE.packages)
    assert differences(HERE, there, ["Attrs"]) == []
    assert differences(HERE, there, ["torch"]) == [Difference("torch", "", "2.0")]


def test_governors_with_the_same_differences_are_told_together() -> None:
    found = {"b:1": differences(HERE, THERE), "a:1": differences(HERE, THERE), "c:1": []}
    assert as_text(found).splitlines() == [
        "a:1, b:1: 3 differences",
        "  Python: 3.12.1 here, 3.11.9 there",
        "  numpy: 2.1.0 here, 1.26.4 there",
        "  six: 1.16.0 here, missing there",
        "c:1: the same as here",
    ]
    assert as_text({}) == "There is no governor."


def test_this_python_has_what_it_imports() -> None:
    here = installed()
    assert here.python == platform.python_version()
    assert "pytest" in here.packages


def test_programs_are_compared_by_what_they_say_of_their_versions(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # given
    scripts = {
        "new": "echo; echo 'new 2.0'; echo more",
        "mute": "true",
        "odd": "echo what >&2; exit 2",
    }
    for name, script in scripts.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "broken").write_text("#!/not/there\n")
    (tmp_path / "broken").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    # when
    here = installed(["new", "mute", "odd", "broken", "missing"])
    # then
    assert here.programs == {
        "new": "new 2.0",
        "mute": "no version",
        "odd": "no version",
        "broken": "cannot be run (No such file or directory)",
        "missing": "",
    }
    there = evolve(here, programs={**here.programs, "new": "", "missing": "missing 1.0"})
    assert differences(here, there) == [
        Difference("new", "new 2.0", ""),
        Difference("missing", "", "missing 1.0"),
    ]
    assert differences(here, here) == [Difference("missing", "", "")]


def test_environments_that_nobody_uses_are_listed_and_removed(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    # given
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
    folder = EnvironmentFolder(own_environments(), Environment(files="1234"))
    folder.open()
    assert folder.is_there() is False
    folder.begin(pack_tree({"a": "b"}), None)
    folder.finish(LIMIT)
    # when, then: it is in use
    run = CliRunner().invoke
    assert folder.path.name in run(env, ["list"]).output
    assert run(env, ["trim"]).output == ""
    # when, then: it is not
    folder.give_up()
    assert run(env, ["trim"]).output == f"removed {folder.path.name}\n"
    assert run(env, ["list"]).output.startswith("0 environments, ")
