"""The examples of the guide's page on batch systems are run in order on a real Slurm."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.launchers.real_slurm import real_slurm

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "guide" / "batch.md"
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

# The usual ports may be in use where the tests run.
RAIN = f"""#!/bin/sh
if [ "$1" = start ]; then
    name=$2; shift 2; set -- start "$name" --listen 0 --http-listen 0 "$@"
fi
PYTHONPATH={shlex.quote(str(ROOT))} exec {shlex.quote(sys.executable)} -P -m rain "$@"
"""


@pytest.mark.whole
@pytest.mark.skipif(shutil.which("slurmctld") is None, reason="apt install slurm-wlm")
def test_the_examples_of_the_page_run(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "rain").write_text(RAIN)
    (programs / "rain").chmod(0o755)
    steps: list[str] = []
    for language, text in BLOCK.findall(PAGE.read_text()):
        if language == "python":
            (tmp_path / "example.py").write_text(text)
            steps.append(f"{shlex.quote(sys.executable)} example.py\n")
        else:
            steps.append(text)
    assert len(steps) == 5

    with real_slurm(tmp_path / "slurm") as settings:
        ran = subprocess.run(
            ["/bin/sh", "-e"],
            input="".join(steps),
            cwd=tmp_path,
            env={
                **os.environ,
                "PATH": f"{programs}:{os.environ['PATH']}",
                "PYTHONPATH": str(ROOT),
                "SLURM_CONF": str(settings),
                "XDG_STATE_HOME": str(tmp_path / "state"),
            },
            capture_output=True,
            text=True,
            check=False,
        )

    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.count("submitted to slurm") == ran.stdout.count("has ended; its logs") == 2
    assert [f"{number} n" in ran.stdout for number in range(4)] == [True] * 4
