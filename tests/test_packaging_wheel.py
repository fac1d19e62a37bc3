"""The wheel holds what a user needs, and nothing that is only ours.

It is built once per run with setuptools itself, in a copy of the project, so
that the tests need no network and leave nothing in the checkout.
"""

import shutil
import subprocess
import sys
import zipfile
from configparser import ConfigParser
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import rain

ROOT = Path(__file__).parent.parent

# Printed by a program that has only the unpacked wheel before the libraries.
IMPORT_FROM = """
import sys
sys.path.insert(0, sys.argv[1])
import rain, rain.client, rain.governor
for module in (rain, rain.client, rain.governor):
    print(module.__file__)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = tmp_path_factory.mktemp("source")
    for name in ("rain", "governor", "client", "capnp"):
        shutil.copytree(
            ROOT / name,
            source / name,
            symlinks=True,
            ignore=shutil.ignore_patterns("__pycache__"),
        )
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    target = tmp_path_factory.mktemp("wheel")
    built = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])",
            str(target),
        ],
        cwd=source,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    (wheel,) = target.glob("*.whl")
    return wheel


def names_in(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def files_below(folder: Path, pattern: str) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob(pattern)}


@pytest.mark.parametrize("room", ["client", "governor"])
def test_the_linked_rooms_are_in_the_wheel_as_real_files(wheel: Path, room: str) -> None:
    expected = {f"rain/{room}/{name}" for name in files_below(ROOT / room, "*.py")}

    assert f"rain/{room}/__init__.py" in expected
    assert expected <= names_in(wheel)


def test_every_module_of_rain_is_in_the_wheel(wheel: Path) -> None:
    expected = {f"rain/{name}" for name in files_below(ROOT / "rain", "*.py")}

    assert expected <= names_in(wheel)


def test_every_schema_is_in_the_wheel(wheel: Path) -> None:
    expected = {f"rain/schema/{name}" for name in files_below(ROOT / "capnp", "*.capnp")}

    assert expected
    assert expected <= names_in(wheel)


def test_every_file_of_the_dashboard_is_in_the_wheel(wheel: Path) -> None:
    pages = "server/dashboard/pages"
    expected = {f"rain/{pages}/{name}" for name in files_below(ROOT / "rain" / pages, "*.*")}

    assert f"rain/{pages}/index.html" in expected
    assert expected <= names_in(wheel)


def test_the_stub_of_pycapnp_and_the_tests_stay_at_home(wheel: Path) -> None:
    names = names_in(wheel)

    assert not [name for name in names if name.endswith(".pyi")]
    assert not [name for name in names if "__pycache__" in name]
    assert {name.split("/")[0] for name in names} == {
        "rain",
        f"rain_tasks-{rain.__version__}.dist-info",
    }


def test_the_wheel_says_that_it_is_typed(wheel: Path) -> None:
    assert "rain/py.typed" in names_in(wheel)


def test_each_command_of_the_wheel_leads_to_a_function(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        text = archive.read(f"rain_tasks-{rain.__version__}.dist-info/entry_points.txt").decode()
    groups = ConfigParser()
    groups.read_string(text)

    commands, plugins = groups["console_scripts"], groups["pytest11"]
    assert set(commands) == {"rain", "rain-server", "rain-governor"}
    for name, target in commands.items():
        assert callable(EntryPoint(name, target, "console_scripts").load())
    (plugin,) = plugins.values()
    assert hasattr(EntryPoint("rain", plugin, "pytest11").load(), "rain_client")


def test_client_and_governor_can_be_imported_from_the_wheel(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")

    answer = subprocess.run(
        [sys.executable, "-P", "-c", IMPORT_FROM, str(tmp_path / "site")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert answer.returncode == 0, answer.stderr
    files = [Path(line) for line in answer.stdout.splitlines()]
    assert len(files) == 3
    assert all(file.is_relative_to(tmp_path / "site" / "rain") for file in files)
