"""Programs that were started without stdin, stdout or stderr."""

import os
import subprocess
import sys
from pathlib import Path

FILLING = """
import os
from rain.daemon.standard_descriptors import fill_standard_descriptors

fill_standard_descriptors()
last = os.open(os.devnull, os.O_RDONLY)
told = [os.readlink(f"/proc/self/fd/{number}") for number in (0, 1, 2)]
with open(os.environ["TOLD"], "w") as file:
    print(last, *told, file=file)
"""


def test_closed_descriptors_are_opened_to_nothing_and_open_ones_stay(tmp_path: Path) -> None:
    told, output = tmp_path / "told", tmp_path / "output"
    command = f"exec {sys.executable} -c '{FILLING}' <&- >{output} 2>&-"
    subprocess.run(["/bin/sh", "-c", command], check=True, env={**os.environ, "TOLD": str(told)})
    assert told.read_text().split() == ["3", "/dev/null", str(output), "/dev/null"]
