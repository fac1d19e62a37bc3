"""What conda is told, and which environments functions can use."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import trio

from rain.base.environment import Environment, read_environment
from rain.governor.environments.conda import (
    PYTHON,
    check_python,
    conda_tool,
    creation,
    prefix_at,
    prefix_of,
)
from rain.governor.environments.folder import EnvironmentFolder, MadeEnvironment
from rain.governor.environments.not_made import NotMadeError
from tests.support.fake_conda import fake_conda

DESCRIBED = Environment(conda='{"dependencies": ["samtools"]}')


def test_the_description_is_part_of_the_key_and_the_text_and_others_keep_theirs() -> None:
    named = Environment(conda_name="bio")
    assert len({one.key for one in (DESCRIBED, named, Environment(conda="{}"))}) == 3
    for one in (DESCRIBED, named):
        assert read_environment(one.text) == one
    assert "conda" not in Environment(("six",)).text
    assert (DESCRIBED.is_on_disk, named.is_on_disk) == (True, False)


def test_the_first_tool_that_is_there_is_taken_or_the_one_that_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NotMadeError, match="needs micromamba, mamba or conda on the machine"):
        conda_tool(None)
    for name in ("conda", "mamba"):
        (tmp_path / name).touch(0o755)
    assert conda_tool(None) == str(tmp_path / "mamba")
    assert conda_tool("conda") == str(tmp_path / "conda")
    with pytest.raises(NotMadeError, match="--conda /none: there is no such program"):
        conda_tool("/none")


@pytest.mark.parametrize(
    ("tool", "words"),
    [
        ("micromamba", ["create", "--yes"]),
        ("mamba", ["env", "create", "--yes"]),
        ("conda", ["env", "create"]),
    ],
)
def test_each_tool_is_told_in_its_words(tmp_path: Path, tool: str, words: list[str]) -> None:
    rest = ["--prefix", "/prefix", "--file", "/file"]
    assert creation(f"/opt/{tool}", Path("/prefix"), Path("/file")) == [
        f"/opt/{tool}",
        *words,
        *rest,
    ]


def test_an_environment_of_the_user_is_found_by_name_or_path(tmp_path: Path) -> None:
    tool = str(fake_conda(tmp_path))
    prefix = tmp_path / "envs" / "bio"
    prefix.mkdir(parents=True)
    assert trio.run(prefix_of, "bio", tool) == prefix
    assert prefix_at(str(prefix)) == prefix
    with pytest.raises(NotMadeError, match=r"no conda environment 'geo'; there are: bio, "):
        trio.run(prefix_of, "geo", tool)
    with pytest.raises(NotMadeError, match=r"no conda environment /geo"):
        prefix_at("/geo")
    with pytest.raises(NotMadeError, match="has not listed the conda environments"):
        trio.run(prefix_of, "bio", "true")


def test_functions_need_the_python_of_the_governor(tmp_path: Path) -> None:
    with pytest.raises(NotMadeError, match=r"has no Python, and functions need python3"):
        check_python(tmp_path)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3.1").touch()
    with pytest.raises(NotMadeError, match=r"has python3\.1, and functions need .*name python=3"):
        check_python(tmp_path)
    (tmp_path / "bin" / PYTHON).touch()
    check_python(tmp_path)


def test_processes_find_the_programs_of_the_environment_first(tmp_path: Path) -> None:
    made = MadeEnvironment(DESCRIBED, tmp_path)
    named = MadeEnvironment(Environment(conda_name="bio"), None, tmp_path / "conda")
    for one in (made, named):
        variables = one.added_to({"PATH": "/usr/bin"})
        assert variables["PATH"] == f"{tmp_path}/conda/bin:/usr/bin"
        assert variables["CONDA_PREFIX"] == str(tmp_path / "conda")
        assert "PYTHONPATH" not in variables
        assert one.python == str(tmp_path / "conda" / "bin" / "python")


def test_the_packages_of_the_governor_are_seen_by_the_same_python_only(tmp_path: Path) -> None:
    folder = EnvironmentFolder(tmp_path, DESCRIBED)
    other = folder.conda / "lib" / "python3.1" / "site-packages"
    other.mkdir(parents=True)
    folder.see_packages_of_governor()
    assert not list(other.iterdir())
    same = folder.conda / "lib" / PYTHON / "site-packages"
    same.mkdir(parents=True)
    folder.see_packages_of_governor()
    assert sys.prefix in (same / "rain.pth").read_text()
