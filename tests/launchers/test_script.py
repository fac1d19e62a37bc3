"""The job of a governor is a shell script that becomes the governor."""

import os
import subprocess
from pathlib import Path

from rain.launchers.script import governor_script

TELLS = ("sh", "-c", 'echo "$PWD $FROM_BEFORE $$ $*" >args; echo ready a:1 >&3', "x")


def run(script: str, tmp_path: Path, **environment: str) -> tuple[list[str], int]:
    """What the program in the script has been told, and the pid of the shell."""
    process = subprocess.Popen(["/bin/sh", "-s"], stdin=subprocess.PIPE, env=environment, text=True)
    process.communicate(script)
    return (tmp_path / "args").read_text().split(), process.pid


def test_the_governor_takes_the_place_of_the_script_and_says_where_it_listens(
    tmp_path: Path,
) -> None:
    ready = tmp_path / "it's ready"
    script = governor_script(
        TELLS,
        folder=tmp_path,
        ready=ready,
        cpus_variable="SLURM_CPUS_ON_NODE",
        before="export FROM_BEFORE=yes",
    )

    told, pid = run(script, tmp_path, SLURM_CPUS_ON_NODE="12", PATH="/usr/bin:/bin")

    assert told == [str(tmp_path), "yes", str(pid), "--cpus", "12", "--ready-fd", "3"]
    assert ready.read_text() == f"{os.uname().nodename}\nready a:1\n"


def test_cpus_that_the_user_has_named_are_not_named_again(tmp_path: Path) -> None:
    script = governor_script(
        (*TELLS, "--cpus=4"), folder=tmp_path, ready=tmp_path / "ready", cpus_variable=""
    )

    told, _ = run(script, tmp_path, NSLOTS="12", PATH="/usr/bin:/bin")

    assert told[2:] == ["--cpus=4", "--ready-fd", "3"]


def test_without_a_number_from_the_batch_system_the_governor_detects_it(tmp_path: Path) -> None:
    script = governor_script(
        TELLS, folder=tmp_path, ready=tmp_path / "ready", cpus_variable="NSLOTS"
    )

    told, _ = run(script, tmp_path, PATH="/usr/bin:/bin")

    assert told[2:] == ["--cpus", "detect", "--ready-fd", "3"]


def test_a_governor_knows_how_long_its_job_goes_on_after_the_first_commands(
    tmp_path: Path,
) -> None:
    script = governor_script(
        TELLS,
        folder=tmp_path,
        ready=tmp_path / "ready",
        cpus_variable="NSLOTS",
        before="began=$((began - 100)) # as if they had taken so long",
        seconds=600,
    )

    told, _ = run(script, tmp_path, PATH="/usr/bin:/bin")

    limit = told[told.index("--time-limit") + 1]
    assert limit.endswith("s")
    assert 400 < int(limit[:-1]) <= 500


def test_a_missing_folder_ends_the_job_before_anything_runs(tmp_path: Path) -> None:
    script = governor_script(
        TELLS, folder=tmp_path / "gone", ready=tmp_path / "ready", cpus_variable="NSLOTS"
    )

    done = subprocess.run(["/bin/sh", "-s"], input=script, text=True, check=False)

    assert done.returncode == 1
    assert not (tmp_path / "ready").exists()
