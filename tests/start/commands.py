"""What tests of whole clusters ask: the commands of rain, and the scaler."""

from __future__ import annotations

import subprocess
import sys

from rain.cluster import Cluster
from rain.start.scaling_files import read_state


def run_rain(*words: str) -> str:
    command = [sys.executable, "-P", "-m", "rain", *words]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout


def started(cluster: Cluster) -> int:
    """How many governors the scaler has asked for so far."""
    state = read_state(cluster.log_folder)
    return 0 if state is None else state.first
