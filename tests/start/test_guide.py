"""The shell examples of the guide's pages on clusters are run, in order, in one folder."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from rain.start.clusters import Index
from rain.start.ending import end_processes
from tests.start.world import LOCAL_SSH, ROOT

GUIDE = ROOT / "docs" / "guide"
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)

# The usual port may be in use where the tests run.
RAIN = f"""#!/bin/sh
if [ "$1" = start ]; then
    shift
    case "$1" in -*) set -- start --listen 0 "$@" ;;
    *) name=$1; shift; set -- start "$name" --listen 0 "$@" ;; esac
fi
PYTHONPATH={shlex.quote(str(ROOT))} exec {shlex.quote(sys.executable)} -P -m rain "$@"
"""


@pytest.mark.whole
@pytest.mark.parametrize(
    ("page", "count", "starts"), [("clusters", 7, 7), ("autoscale", 3, 3), ("users", 2, 1)]
)
def test_the_examples_of_a_page_run(tmp_path: Path, page: str, count: int, starts: int) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "rain").write_text(RAIN)
    (programs / "rain").chmod(0o755)
    # Called as ssh with its options, which it does without.
    (programs / "ssh").write_text(f'#!/bin/sh\nshift 2\nexec {shlex.quote(str(LOCAL_SSH))} "$@"\n')
    (programs / "ssh").chmod(0o755)
    # What the page installs is there already: tests install nothing.
    (programs / "pip").write_text("#!/bin/sh\n")
    (programs / "pip").chmod(0o755)
    # A program that waits for the first governor is warned.
    (programs / "python").write_text(
        f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -W ignore "$@"\n'
    )
    (programs / "python").chmod(0o755)
    examples = BLOCK.findall((GUIDE / f"{page}.md").read_text())
    assert len(examples) == count

    try:
        ran = subprocess.run(
            ["/bin/sh", "-e"],
            input="".join(examples),
            cwd=tmp_path,
            env={
                **os.environ,
                "PATH": f"{programs}:{os.environ['PATH']}",
                "PYTHONPATH": str(ROOT),
                "XDG_STATE_HOME": str(tmp_path / "state"),
            },
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        # Nothing, unless an example has failed.
        for cluster in Index(tmp_path / "state" / "rain" / "clusters").look()[0]:
            end_processes([member.mark for member in cluster.members], 0.0)

    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.count("Rain is ready") == ran.stdout.count("has ended; its logs") == starts
