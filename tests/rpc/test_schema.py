"""The schemas load, once and by one path; without pycapnp that is said in one line."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.whole


def run_python(source: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", source],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_schema_of_the_folder_loads() -> None:
    # In a process of its own: a schema with an error aborts the process that loads it.
    done = run_python(
        "from rain.rpc import schema\n"
        "names = {path.stem for path in schema.FOLDER.glob('*.capnp')}\n"
        "assert names and all(hasattr(schema, name) for name in names), names\n"
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_they_load_and_calls_run_though_the_current_folder_was_removed(tmp_path: Path) -> None:
    done = run_python(
        "import os\n"
        f"os.chdir({str(tmp_path)!r})\n"
        f"os.rmdir({str(tmp_path)!r})\n"
        f"os.environ['PWD'] = {str(tmp_path)!r}\n"
        "from rain.client import Client\n"
        "with Client(local=True) as client:\n"
        "    assert client.submit(pow, 2, 3).result() == 8\n"
        "assert os.stat('.').st_nlink == 0  # it is there again\n"
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "module",
    [
        "schema",
        "codec",
        "server_endpoint",
        "governor_endpoint",
        "client_endpoint",
    ],
)
def test_without_pycapnp_one_line_says_what_to_install(module: str) -> None:
    done = run_python(
        "import sys, types\n"
        "sys.modules['capnp'] = types.ModuleType('capnp')\n"
        "from rain.base.errors import StartError\n"
        f"try:\n    import rain.rpc.{module}\n"
        "except StartError as error:\n    print(error)\n"
    )
    expected = "pycapnp is not installed in this environment: pip install 'pycapnp>=2.2'\n"
    assert (done.stdout, done.stderr) == (expected, "")
