"""Tests of Dask and of joblib themselves, run on a cluster: `python -m tests.adapters.own_tests`.

All of Dask's arrays, or data frames, take too long for each change. So CI runs a part of them, and
`python -m tests.adapters.own_tests dask.dataframe.tests --every 40` runs every fortieth of a whole
package, or all without it. Whatever follows goes to pytest, for instance `-k` or `-rf`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

PROJECT = Path(__file__).parent.parent.parent

MARKERS = ("slow", "network", "gpu", "array_expr")
"""Those that the tests use, and that their own settings would name."""


def command(module: str, folder: Path, options: Sequence[str] = ()) -> list[str]:
    """The pytest that runs the tests of a module or package, with its settings in this folder."""
    settings = folder / "pytest.ini"
    settings.write_text("\n  ".join(["[pytest]\nmarkers =", *MARKERS]), encoding="utf-8")
    plugin = f"tests.adapters.{module.partition('.')[0]}_plugin"
    return [
        *(sys.executable, "-m", "pytest", "-q", "-c", str(settings), "--rootdir", str(folder)),
        *("-p", "no:cacheprovider", "-p", plugin, "-p", "tests.adapters.sampling"),
        *("--pyargs", module, *options),
    ]


def environment() -> dict[str, str]:
    """Where that pytest finds the plugins."""
    return {**os.environ, "PYTHONPATH": str(PROJECT), "PYTHONWARNINGS": "ignore"}


def main() -> int:
    """Runs what the command line says; gives the code of pytest."""
    parser = argparse.ArgumentParser(description="Tests of Dask or joblib itself, on a cluster.")
    parser.add_argument("module", help="dask.array.tests, dask.dataframe.tests.test_map, ...")
    known, options = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as folder:
        run = command(known.module, Path(folder), options)
        return subprocess.run(run, cwd=PROJECT, env=environment(), check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
