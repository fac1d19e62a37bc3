"""Governors inside a real Ray cluster: each in an actor that has its cpus."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from rain.base.errors import StartError
from rain.launchers.inside_ray import InRay
from tests.launchers.real_slurm import free_ports

ROOT = Path(__file__).parents[2]

PROGRAM = """
import sys
from rain.cluster import Cluster

address = sys.argv[1]
with Cluster.ray(address, cpus=1, wait=1, listen="0", http_listen="0") as cluster:
    cluster.add("ray", governors=1, cpus=2, options=[address])
    with cluster.client() as client:
        print("sum", sum(client.gather(client.map(abs, [-1, -2]))))
    for job in cluster.jobs():
        print(job.name, job.state, job.why)

import ray
ray.init(address, namespace="rain", log_to_driver=False, logging_level="ERROR")
print("left", ray.util.list_named_actors(all_namespaces=True))
print("free", ray.available_resources()["CPU"])
"""


def environment(folder: Path) -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PYTHONSAFEPATH": "1",
        "XDG_STATE_HOME": str(folder / "state"),
        "RAY_AUTH_MODE": "disabled",  # a token of the user's may be there
        "RAY_USAGE_STATS_ENABLED": "0",
    }


@pytest.fixture
def ray(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    """A head with two cpus. Ray has sockets in its folder, whose path has to be short."""
    (port,) = free_ports(1)
    folder = tmp_path_factory.mktemp("r")
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block"),
            *("--port", str(port), "--num-cpus", "2", "--include-dashboard=false"),
            *("--node-ip-address", "127.0.0.1", "--temp-dir", str(folder)),
        ],
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if "Ray runtime started" in line:
                break
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.communicate()


@pytest.mark.whole
def test_governors_run_in_actors_and_leave_their_cpus(tmp_path: Path, ray: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, ray],
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )

    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == [
        "sum 3",
        "governor-0 running ",
        "governor-1 queued its node does not have 2 CPU free",
        "left []",
        "free 2.0",
    ]


@pytest.mark.parametrize("options", [["a", "b"], ["--num-cpus=2"]])
def test_what_is_no_address_is_refused(options: list[str]) -> None:
    with pytest.raises(StartError, match="name the head of the Ray cluster"):
        InRay().room(options)
