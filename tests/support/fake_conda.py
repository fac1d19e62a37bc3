"""A tool that makes conda environments as micromamba is told to, though out of this Python only.

None of the registries that these tests may use has a real one.
"""

from __future__ import annotations

import sys
from pathlib import Path

_SCRIPT = """#!{python}
import json, pathlib, subprocess, sys, sysconfig

def after(word):
    return pathlib.Path(sys.argv[sys.argv.index(word) + 1])

here = pathlib.Path(__file__).parent
if sys.argv[1:] == ["env", "list", "--json"]:
    print(json.dumps(dict(envs=[str(here), *map(str, sorted(here.glob("envs/*")))])))
elif sys.argv[1:3] == ["create", "--yes"]:
    wanted = json.loads(after("--file").read_text())["dependencies"]
    prefix = after("--prefix")
    with (here / "made").open("a") as made:
        print(*wanted, file=made)
    if "missing" in wanted:
        sys.exit("nothing provides missing")
    if "python" in wanted:
        subprocess.run([{python!r}, "-m", "venv", "--without-pip", prefix], check=True)
    (prefix / "bin").mkdir(parents=True, exist_ok=True)
    program = prefix / "bin" / "rain-tool"
    program.write_text("#!/bin/sh\\necho tool of $CONDA_PREFIX\\n")
    program.chmod(0o755)
else:
    sys.exit(f"what is {{sys.argv}}?")
"""


def fake_conda(folder: Path) -> Path:
    """Writes the tool; what it has made stands in the file `made` beside it."""
    tool = folder / "micromamba"
    tool.write_text(_SCRIPT.format(python=sys.executable))
    tool.chmod(0o755)
    return tool
