"""`rain start`, `rain stop`: what they print, and the status with which they end."""

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Sequence

import pytest

from rain.base.admission import http_url
from rain.daemon.user_key import user_key
from tests.start.world import LOCAL_SSH, ROOT, World, run_prefix


def environment(world: World) -> dict[str, str]:
    return {**os.environ, "XDG_STATE_HOME": str(world.folder / "state")}


def rain(world: World, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "rain", *arguments],
        cwd=ROOT,
        env=environment(world),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def start(world: World, *arguments: str, **does: str) -> Sequence[str]:
    return [
        "start",
        *arguments,
        "--runprefix",
        shlex.join(run_prefix(**does)),
        "--logdir",
        str(world.logs),
    ]


def test_a_start_says_where_all_is_and_how_it_ends(world: World) -> None:
    started = rain(world, *start(world, "--local-governors=[1,1]"))

    assert (started.returncode, started.stderr) == (0, "")
    assert started.stdout.splitlines() == [
        "Rain is ready: a server and 2 governors.",
        "  server  127.0.0.1:7210",
        f"  http    {http_url(user_key(environment(world))[0], '127.0.0.1:7222')}",
        f"  logs    {world.logs}",
        f"  stop    rain stop {shlex.quote(str(world.logs))}",
    ]
    url = rain(world, "token", "--url")
    assert url.stdout.strip() in started.stdout
    token = rain(world, "token", str(world.logs))
    assert f":{token.stdout.strip()}@" in url.stdout
    # The log of the server has it, too, and is for its owner alone, whatever the folder is.
    assert (world.logs / "server.err").stat().st_mode & 0o077 == 0


def test_a_start_says_what_the_server_goes_on_with(world: World) -> None:
    started = rain(world, *start(world, "--simple", server="goes on"))

    assert "  journal goes on with 1 session" in started.stdout.splitlines()


@pytest.mark.parametrize(
    ("given", "handed"), [("none", "none"), ("/kept", "/kept"), ("kept", str(ROOT / "kept"))]
)
def test_a_journal_is_handed_to_the_server(world: World, given: str, handed: str) -> None:
    assert rain(world, *start(world, "--simple", "--journal", given)).returncode == 0

    assert f"--journal {handed}" in " ".join(world.notes("server")["arguments"])


def test_more_names_of_the_machine_are_handed_to_the_server(world: World) -> None:
    names = ["--http-host", "login.example", "--http-host", "rain"]

    assert rain(world, *start(world, "--simple", *names)).returncode == 0

    assert " ".join(names) in " ".join(world.notes("server")["arguments"])


def test_a_stop_ends_what_a_start_has_started(world: World) -> None:
    rain(world, *start(world, "--simple"))

    stopped = rain(world, "stop", "127.0.0.1:7210")
    again = rain(world, "stop")

    assert (stopped.returncode, stopped.stderr) == (0, "")
    assert stopped.stdout == (
        f"The cluster at 127.0.0.1:7210 has ended; its logs are in {world.logs}\n"
    )
    assert world.left() == []
    assert (again.returncode, again.stdout) == (1, "")
    assert again.stderr == "rain: no cluster of yours runs on this machine\n"


def test_a_stop_names_those_that_had_to_be_killed(world: World) -> None:
    rain(world, *start(world, "--simple", server="stubborn"))

    stopped = rain(world, "stop", str(world.logs), "--grace", "0.1")

    assert stopped.returncode == 0
    assert "killed, because not ended within 0.1 seconds: server\n" in stopped.stdout


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "no governors: use --simple"),
        (["--simple", "--local-governors=[1]"], "cannot be combined"),
        (["--local-governors=3"], "'3' is not a list of cpus"),
        (["--governor-host-file", "/no/such/file"], "/no/such/file cannot be read: No such file"),
        (["--autoconf=pbs"], "PBS_NODEFILE is not set"),
        (["--simple", "--ssh", "'"], '--ssh "\'" is not a command'),
        (["--simple", "--logdir", "/dev/null/logs"], "/dev/null/logs cannot be written"),
        (["--simple", "--governor-config", "/no/such/file"], "/no/such/file is not a file"),
        (["-S", "--local-governors=[2]"], "-S and --local-governors cannot be combined"),
    ],
)
def test_what_cannot_be_started_ends_with_one_line_and_status_1(
    world: World, arguments: list[str], complaint: str
) -> None:
    # The options of the case come last, and so count.
    options = [*start(world)[1:], *arguments]

    refused = rain(world, "start", *options)

    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr.startswith("rain: ")
    assert refused.stderr.count("\n") == 1
    assert complaint in refused.stderr


def test_a_failed_start_ends_with_status_1(world: World) -> None:
    failed = rain(world, *start(world, "--local-governors=[1,1]", governor_1="dies"))

    assert (failed.returncode, failed.stdout) == (1, "")
    assert failed.stderr.startswith("rain: governor-1 ended with status 3")
    assert world.left() == []


def test_the_nodes_of_a_batch_job_get_one_governor_each(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = world.folder / "nodes"
    nodes.write_text("n1\nn1\nn2\n")
    monkeypatch.setenv("PBS_NODEFILE", str(nodes))

    started = rain(world, *start(world, "--autoconf=pbs", "--ssh", str(LOCAL_SSH)))

    assert started.stderr == ""
    assert started.stdout.startswith("Rain is ready: a server and 2 governors.\n")
    assert rain(world, "stop").returncode == 0


def test_a_host_that_was_not_reached_can_be_tried_again(world: World) -> None:
    hosts = world.folder / "hosts"
    hosts.write_text("alpha\n")
    way = world.folder / "ssh"
    way.symlink_to(LOCAL_SSH)
    rain(world, *start(world, "--governor-host-file", str(hosts), "--ssh", str(way)))
    way.unlink()

    unreached = rain(world, "stop")
    way.symlink_to(LOCAL_SSH)
    reached = rain(world, "stop", str(world.logs))
    over = rain(world, "stop", str(world.logs))

    assert unreached.returncode == 1
    assert unreached.stderr.startswith("rain: alpha cannot be reached: [Errno 2]")
    assert f"try again with: rain stop {shlex.quote(str(world.logs))}\n" in unreached.stderr
    assert (reached.returncode, reached.stderr) == (0, "")
    assert world.left() == []
    assert over.returncode == 1
    assert over.stderr == f"rain: the cluster of {world.logs} does not run any more\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("where", ["here", "elsewhere"])
def test_a_signal_in_the_middle_of_a_start_leaves_nothing_behind(
    world: World, number: signal.Signals, where: str
) -> None:
    hosts = world.folder / "hosts"
    hosts.write_text("alpha\nbeta\n")
    governors = {
        "here": ["--local-governors=[1,1]"],
        "elsewhere": ["--governor-host-file", str(hosts), "--ssh", str(LOCAL_SSH)],
    }[where]
    # The player tells through a pipe that it has begun, and is never ready.
    begun = world.folder / "begun"
    os.mkfifo(begun)
    prefix = shlex.join(run_prefix(governor_1="silent"))
    script = (
        f'case "$*" in *governor-1*) echo >{shlex.quote(str(begun))};; esac; exec {prefix} "$@"'
    )
    arguments = ["start", *governors, "--logdir", str(world.logs)]
    with subprocess.Popen(
        [
            *(sys.executable, "-m", "rain", *arguments),
            *("--runprefix", shlex.join(["/bin/sh", "-c", script, "sh"])),
        ],
        cwd=ROOT,
        env=environment(world),
        stderr=subprocess.PIPE,
        text=True,
    ) as starting:
        begun.read_text()

        starting.send_signal(number)
        _, complaint = starting.communicate()

    assert starting.returncode == 128 + number
    assert complaint == (
        f"rain start: interrupted by {number.name}; all that was started has ended\n"
    )
    assert world.left() == []


def test_help_is_given_for_every_option(world: World) -> None:
    shown = rain(world, "start", "--help")

    assert shown.returncode == 0
    for option in ("--simple", "--governor-host-file", "--remote-init", "--workdir", "-S"):
        assert option in shown.stdout
