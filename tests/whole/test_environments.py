"""Tasks with software environments, on a real governor. Packages come from wheels made here."""

from __future__ import annotations

import importlib
import os
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from rain.client import Client, Env, Program, TaskException, get_client, remote, tasks

pytestmark = pytest.mark.whole


def wheel(folder: Path, version: str) -> None:
    """A package with one module that knows its version, and a program that prints it."""
    name = "rain_tested"
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": f"VERSION = {version!r}\n\ndef main():\n    print(VERSION)\n",
        f"{info}/entry_points.txt": f"[console_scripts]\nrain-tested = {name}:main\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        for path, text in {**files, f"{info}/RECORD": record}.items():
            archive.writestr(path, text)


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheels")
    wheel(folder, "1.0")
    wheel(folder, "2.0")
    return folder


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with Client(cpus=2, env=Env(vars={"LEVEL": "low", "COLOUR": "red"})) as made:
        yield made


def version() -> tuple[str, str]:
    found: str = importlib.import_module("rain_tested").VERSION
    return found, sys.prefix


def nested() -> tuple[str, str]:
    return get_client().submit(version).result()


def variables() -> tuple[str | None, str | None]:
    return os.environ.get("LEVEL"), os.environ.get("COLOUR")


def nested_variables() -> tuple[str | None, str | None]:
    return get_client().submit(variables).result()


def test_two_versions_of_a_package_are_used_at_the_same_time(client: Client, wheels: Path) -> None:
    # when
    old, new = (
        client.options(env=Env(pip=[f"rain_tested=={number}"], wheels=wheels))
        for number in ("1.0", "2.0")
    )
    found = client.gather([old.submit(version), new.submit(version), old.submit(nested)])
    # then: what a task submits has its environment, which is not made again
    assert [number for number, _ in found] == ["1.0", "2.0", "1.0"]
    places = [place for _, place in found]
    assert places[0] == places[2] != places[1]
    assert sys.prefix not in places
    with pytest.raises(ModuleNotFoundError):
        client.submit(version).result()


def test_programs_of_a_package_run_in_the_environment_of_their_session(
    client: Client, wheels: Path, tmp_path: Path
) -> None:
    (tmp_path / "table.txt").write_text("in a file")
    two = Env(pip=["rain_tested==2.0"], wheels=wheels)
    show = Program(["rain-tested"], stdout=True, timeout=60)
    said = 'echo "$LEVEL $COLOUR"; cat "$RAIN_ENVIRONMENT_FILES/table.txt"'
    missing = Env(pip=["rain_tested==3.0"], wheels=wheels)
    with client.new_session("programs", env=two) as session:
        files = tasks.Execute(
            ["sh", "-c", said], stdout=True, env=Env(vars={"LEVEL": "high"}, files=tmp_path)
        )
        found = session.compute_all([show().output, files.output])
        assert [one.get_str() for one in found] == ["2.0\n", "high red\nin a file"]
        without = tasks.Execute("true", env=missing)
        session.submit()
        with pytest.raises(TaskException, match=r"(?s)exit code 1:.*rain_tested==3\.0"):
            without.wait()


def test_what_pip_says_is_the_failure_of_all_that_need_it(client: Client, wheels: Path) -> None:
    missing = client.options(env=Env(pip=["rain_tested==3.0"], wheels=wheels))
    for future in missing.map(abs, [-1, -2]):
        with pytest.raises(TaskException, match=r"(?s)exit code 1:.*rain_tested==3\.0"):
            future.result()
    assert client.submit(abs, -3).result() == 3


def test_variables_of_client_session_and_call_are_joined(client: Client) -> None:
    assert client.submit(variables).result() == ("low", "red")
    with client.session("blue", env=Env(vars={"COLOUR": "blue"})) as session:
        loud = session.options(env=Env(vars={"LEVEL": "loud"}))
        assert session.submit(variables).result() == ("low", "blue")
        assert loud.submit(variables).result() == ("loud", "blue")
        assert loud.submit(nested_variables).result() == ("loud", "blue")


def test_a_task_imports_and_reads_the_files_of_its_environment(
    client: Client, tmp_path: Path
) -> None:
    # given: a large folder lies in the store, and a small one travels inline
    (tmp_path / "rain_helper.py").write_text("def double(x): return 2 * x\n")
    (tmp_path / "table.txt").write_text("x" * 100_000)

    def use(x: int) -> tuple[int, int]:
        helper = importlib.import_module("rain_helper")
        table = Path(os.environ["RAIN_ENVIRONMENT_FILES"], "table.txt")
        return helper.double(x), len(table.read_text())

    # when, then
    with_files = client.options(env=Env(files=tmp_path))
    assert with_files.submit(use, client.put(4)).result() == (8, 100_000)
    (tmp_path / "table.txt").write_text("small")
    assert client.options(env=Env(files=tmp_path)).submit(use, 4).result() == (8, 5)


def test_remote_functions_have_environments_too(client: Client) -> None:
    @remote(auto_encode="pickle", env=Env(vars={"LEVEL": "remote"}))
    def read(ctx: object, first: object, *, second: object) -> object:
        return variables()

    with client.new_session("remote", env=Env(vars={"COLOUR": "green"})) as session:
        task = read(1, second=2)
        assert session.compute(task).load() == ("remote", "green")
