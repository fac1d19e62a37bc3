"""How users describe environments, and what becomes of several of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rain.client import Client, Env, RainException
from rain.client.environments import inherited


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "src"
    (made / "__pycache__").mkdir(parents=True)
    (made / "module.py").write_text("VALUE = 1\n")
    return made


def test_variables_are_joined_and_all_else_takes_the_place_of_what_was_there(folder: Path) -> None:
    parent = Env(pip=["numpy", "six"], vars={"A": "a", "B": "b"})
    child = Env(pip=["attrs"], vars={"A": "A", "C": "c"}, files=folder)
    joined = child.over(parent).environment
    assert joined.packages == ("attrs",)
    assert dict(joined.variables) == {"A": "A", "B": "b", "C": "c"}
    assert joined.files == child.environment.files
    assert Env(vars={"D": "d"}).over(parent).environment.packages == ("numpy", "six")


def test_wheels_go_with_the_packages_that_come_from_them(folder: Path) -> None:
    parent = Env(pip=["six"], wheels=folder)
    assert Env(pip=["attrs"]).over(parent).environment.wheels == ""
    assert Env(vars={"A": "a"}).over(parent).environment.wheels == parent.environment.wheels


def test_conda_takes_the_place_of_packages_and_they_take_its_place(folder: Path) -> None:
    packages, conda = Env(pip=["six"], wheels=folder), Env(conda="bio", vars={"A": "a"})
    joined = conda.over(packages).environment
    assert (joined.packages, joined.wheels, joined.conda_name) == ((), "", "bio")
    assert packages.over(conda).environment.conda_name == ""
    assert Env(vars={"B": "b"}).over(conda).environment.conda_name == "bio"


def test_conda_is_a_file_or_what_it_says_or_a_name(tmp_path: Path) -> None:
    path = tmp_path / "environment.yml"
    path.write_text("dependencies:\n  - samtools\n")
    for given in (path, str(path)):
        assert Env(conda=given).environment.conda == "dependencies:\n  - samtools\n"
    table = {"dependencies": ["samtools", {"pip": ["six"]}]}
    assert json.loads(Env(conda=table).environment.conda) == table
    for named in ("bio", "/opt/envs/bio", Path("/opt/envs/bio")):
        assert Env(conda=named).environment.conda_name == str(named)


def test_no_more_text_is_taken_than_a_process_can_be_given() -> None:
    half = "x" * (60 << 10)
    Env(vars={"A": half})
    with pytest.raises(RainException, match=r"have 120.* of text, and 100KiB are"):
        Env(vars={"A": half, "B": half})
    with pytest.raises(RainException, match=r"have 120"):
        Env(vars={"A": half}).over(Env(vars={"B": half}))


def test_equal_folders_are_one_environment_and_a_change_makes_another(folder: Path) -> None:
    first = Env(files=folder)
    (folder / "__pycache__" / "module.pyc").write_bytes(b"compiled")
    (folder / ".hidden").touch()
    assert Env(files=folder) == first
    (folder / "module.py").write_text("VALUE = 2\n")
    assert Env(files=folder) != first


def test_a_requirements_file_names_packages(tmp_path: Path) -> None:
    path = tmp_path / "requirements.txt"
    path.write_text("# what we need\nsix==1.15.0\n\n  attrs >= 20  \n")
    assert Env(pip=path).environment.packages == ("six==1.15.0", "attrs >= 20")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"pip": "missing.txt"}, r"the requirements file missing.txt cannot be read: No such file"),
        ({"pip": [1]}, "a package is named by a text, not by 1"),
        ({"pip": 7}, "pip is a list of packages, not 7"),
        ({"vars": {"A": 1}}, "the variable 'A' is 1; both must be texts"),
        ({"vars": {"A=B": "1"}}, "'A=B' cannot be an environment variable"),
        ({"vars": {"RAIN_ORIGIN": ""}}, "RAIN_ORIGIN belongs to Rain"),
        ({"files": "missing"}, "there is no folder missing"),
        ({"wheels": "."}, "name them in pip="),
        ({"conda": "missing.yml"}, "missing.yml cannot be read: No such file"),
        ({"conda": {"channels": ["conda-forge"]}}, "is described by .*dependencies"),
        ({"conda": {"dependencies": [Path]}}, "cannot be written"),
        ({"conda": ""}, "conda is ''; it is a path that ends in .yml"),
        ({"conda": "envs/bio"}, "the path of an environment is absolute"),
        ({"conda": "bio", "pip": ["six"]}, "either pip= or conda="),
        ({"timeout": -1}, "timeout is a number of seconds above 0"),
    ],
)
def test_what_makes_no_sense_is_told_at_once(
    words: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RainException, match=f"^Env: .*{message}"):
        Env(**words)


def test_a_dictionary_is_no_environment() -> None:
    wrong: Any = {"pip": ["six"]}
    with Client(local=True) as client, pytest.raises(RainException, match="write env=Env"):
        client.options(env=wrong)


def test_in_local_mode_there_is_none() -> None:
    with pytest.raises(RainException, match="leave env out"):
        Client(local=True, env=Env(vars={"A": "1"}))
    with Client(local=True) as client:
        loud = client.options(env=Env(vars={"A": "1"}))
        with pytest.raises(RainException, match="In local mode"):
            loud.submit(abs, -1)


def test_outside_of_tasks_none_is_inherited() -> None:
    assert inherited() is None
