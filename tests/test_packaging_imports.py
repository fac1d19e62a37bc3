"""Each module has one name, and `import rain` costs next to nothing."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# `__main__` modules are programs: to import one is to start it.
IMPORT_EVERYTHING = """
import importlib, json, pkgutil, sys
import rain
for module in pkgutil.walk_packages(rain.__path__, "rain."):
    if not module.name.endswith(".__main__"):
        importlib.import_module(module.name)
print(json.dumps(sorted(sys.modules)))
"""


def modules_after(program: str) -> list[str]:
    """The modules that a program has loaded, started where the folders could be mistaken."""
    answer = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    loaded: list[str] = json.loads(answer.stdout)
    return loaded


def test_the_rooms_are_never_imported_by_their_second_names() -> None:
    # A class that is loaded as governor.x and as rain.governor.x is two classes.
    loaded = modules_after(IMPORT_EVERYTHING)

    assert "rain.client" in loaded
    assert "rain.governor" in loaded
    assert not [name for name in loaded if name.split(".")[0] in {"client", "governor"}]


def test_to_import_rain_loads_nothing_else() -> None:
    # Each executor process does so before its first task.
    before = modules_after("import json, sys; print(json.dumps(sorted(sys.modules)))")
    after = modules_after("import json, sys, rain; print(json.dumps(sorted(sys.modules)))")

    assert set(after) - set(before) == {"rain"}


@pytest.mark.parametrize(
    ("link", "target"),
    [("client", "../client"), ("governor", "../governor"), ("schema", "../capnp")],
)
def test_the_rooms_are_linked_by_relative_paths(link: str, target: str) -> None:
    assert (ROOT / "rain" / link).readlink() == Path(target)


def test_the_folder_of_the_schemas_does_not_hide_pycapnp() -> None:
    assert not (ROOT / "capnp" / "__init__.py").exists()
    loaded = modules_after("import capnp, json, sys; print(json.dumps(sorted(sys.modules)))")

    assert "capnp.lib.capnp" in loaded
