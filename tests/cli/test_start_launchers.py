"""`rain start NAME`: which options it takes, and what it asks a launcher for."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from rain.base.errors import StartError
from rain.cli.start_command import start
from rain.start.governors import BatchGovernors, LocalGovernors, RemoteGovernors
from rain.start.options import StartRequest


@pytest.fixture
def orders(monkeypatch: pytest.MonkeyPatch) -> list[StartRequest]:
    """What starts were asked for; none takes place."""
    found: list[StartRequest] = []

    def instead(self: StartRequest) -> None:
        found.append(self)
        raise StartError("asked")

    monkeypatch.setattr(StartRequest, "start", instead)
    return found


def run(*arguments: str) -> str:
    """The error with which it ends."""
    ended = CliRunner().invoke(start, arguments)
    return str(ended.exception) if isinstance(ended.exception, StartError) else ended.output


def test_a_batch_system_is_asked_for_jobs_with_all_amounts(
    orders: list[StartRequest],
) -> None:
    run(
        *("slurm", "--governors", "3", "--cpus", "16", "--memory", "64G", "--gpus", "2"),
        *("--time", "1:30:00", "--before", "module load python", "--wait", "2", "--listen", "7300"),
        *("--", "--partition=long", "--qos", "high"),
    )

    (order,) = orders
    assert order.governors == BatchGovernors(
        "slurm",
        3,
        cpus=16,
        memory=64 * 2**30,
        gpus=2,
        seconds=5400,
        options=("--partition=long", "--qos", "high"),
        wait=2,
    )
    assert (order.options.listen, order.options.before) == ("7300", "module load python")


def test_ssh_takes_hosts_or_the_file_that_has_them(
    orders: list[StartRequest], tmp_path: Path
) -> None:
    file = tmp_path / "hosts"
    file.write_text("node1\n# mine\nme@node2\n")

    run("ssh", "node1", "me@node2")
    run("ssh", str(file))

    assert [order.governors for order in orders] == [RemoteGovernors(("node1", "me@node2"))] * 2


def test_hosts_are_reached_as_another_user_and_through_others(orders: list[StartRequest]) -> None:
    run("ssh", "node1", "me@node2", "--user", "ada", "--jump", "login,gate", "--ssh", "ssh -x")

    assert orders[-1].governors == RemoteGovernors(("ada@node1", "me@node2"))
    assert orders[-1].ssh == ("ssh", "-x", "-J", "login,gate")
    assert "--jump '-oProxyCommand=x' is not a name" in run("ssh", "a", "--jump=-oProxyCommand=x")
    assert "--user 'two words' is not a name" in run("ssh", "a", "--user", "two words")


def test_local_governors_have_the_cpus_that_they_are_given(
    orders: list[StartRequest],
) -> None:
    run("local", "--governors", "2", "--cpus", "3")

    assert [order.governors for order in orders] == [LocalGovernors((3, 3))]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--listen", "0", "slurm", "--governors", "1"], "--listen has to come after 'slurm'"),
        (["slurm"], "give --governors N, or --max N"),
        (["slurm", "--governors", "0"], "0 is not in the range x>=1"),
        (
            ["slurm", "--governors", "1", "--time", "60"],
            "--time '60' is not a time limit",
        ),
        (["slurm", "--governors", "1", "--memory", "much"], "'much' is not a size"),
        (["ssh"], "Missing argument 'FILE|HOST...'"),
        (["ssh", "./nowhere"], "the host file nowhere cannot be read"),
        (["slrum", "--governors", "1"], "No such command 'slrum'"),
        (["local", "--cpus", "2", "-S"], "-S and --cpus cannot be combined"),
        (["ssh", "--ssh", "", "node1"], "--ssh '' is empty: name a command"),
        ([], "or name a launcher, as 'rain start slurm --help'"),
    ],
)
def test_what_is_wrong_is_named(
    orders: list[StartRequest], arguments: list[str], words: str
) -> None:
    assert words in run(*arguments)
    assert not orders


def test_the_help_names_all_launchers() -> None:
    shown = CliRunner().invoke(start, ["--help"]).output

    for name in ("local", "ssh", "slurm", "sge", "pbs", "lsf"):
        assert f"\n  {name} " in shown
