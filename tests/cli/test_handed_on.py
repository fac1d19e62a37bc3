"""Options of the daemons that `rain start`, files and programs give: the daemons get them."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from rain.base.errors import StartError
from rain.cli.cluster_file import read_cluster_file, read_order, read_start_options
from rain.cli.governor_command import governor
from rain.cli.handed_on import GOVERNOR_OPTIONS, HANDED_ON, SERVER_OPTIONS
from rain.cli.server_command import server
from rain.cli.start_alone import start_command
from rain.cli.start_options import of_governors
from rain.client.explaining.other_systems import OPTIONS_OF_CLUSTERS
from rain.start.governors import BatchGovernors
from rain.start.keywords import JobOptions
from rain.start.options import StartRequest


def asked(name: str, *words: str) -> StartRequest:
    """What is asked for by a command line of `rain start`."""
    command = start_command(name)
    assert command is not None
    order: StartRequest = command.main(list(words), standalone_mode=False)
    return order


def parsed(command: click.Command, words: tuple[str, ...]) -> dict[str, object]:
    """What a daemon reads of the words that it is handed."""
    arguments = ["HOST", *words] if command is governor else list(words)
    return command.make_context(str(command.name), arguments).params


def test_the_server_is_told_its_scheduler_and_the_governors_their_memory() -> None:
    options = asked("local", "--scheduler", "random", "--scheduler-option", "seed=7").options
    more = asked("", "--simple", "--memory=4G", "--no-share-store", "--log-level", "debug").options

    assert options.of_server == ("--scheduler=random", "--scheduler-option=seed=7")
    assert options.of_governors == ()
    assert more.of_server == ("--log-level=debug",)
    assert more.of_governors == ("--memory=4G", "--no-share-store", "--log-level=debug")


def test_what_is_not_said_is_left_to_the_daemons() -> None:
    options = asked("", "--simple").options

    assert (options.of_server, options.of_governors) == ((), ())


def test_the_memory_of_a_job_is_asked_of_its_batch_system() -> None:
    order = asked("slurm", "--governors=2", "--memory=4G", "--store=1G")

    assert isinstance(order.governors, BatchGovernors)
    assert order.governors.memory == 4 * 2**30
    assert order.options.of_governors == ("--store=1G",)


def test_a_file_of_a_scheduler_is_found_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    file = tmp_path / "in" / "cluster.toml"
    file.write_text('launcher = "local"\nscheduler = "mine.py:Mine"\ncrash-limit = 5\n')

    said = asked("local", "--scheduler", "mine.py:Mine").options.of_server
    in_file = read_cluster_file(file).order({}).options.of_server

    assert said == (f"--scheduler={tmp_path}/mine.py:Mine",)
    assert in_file == (f"--scheduler={tmp_path}/in/mine.py:Mine", "--crash-limit=5")


def test_a_program_gives_them_under_the_names_of_keywords() -> None:
    options = read_start_options(
        {
            "listen": "0",
            "scheduler": "random",
            "scheduler_options": {"seed": 7},
            "crash_limit": 5,
            "event_log": False,
            "memory": 2**30,
            "server_timeout": 0,
        }
    )

    assert options.listen == "0"
    assert options.of_server == (
        *("--scheduler=random", "--scheduler-option=seed=7", "--crash-limit=5", "--no-event-log"),
    )
    assert options.of_governors == (f"--memory={2**30}", "--server-timeout=0")


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"crash_limits": 5}, "no option 'crash_limits': did you mean 'crash_limit'"),
        ({"crash_limit": "many"}, "crash-limit: 'many' is not a valid integer"),
        ({"event_log": "yes"}, "event-log: it is true or false, and not 'yes'"),
    ],
)
def test_a_program_is_told_what_is_wrong(said: dict[str, object], why: str) -> None:
    with pytest.raises(StartError, match=why):
        read_start_options(said)


@pytest.mark.parametrize("name", HANDED_ON)
def test_the_daemon_reads_what_it_is_handed(name: str) -> None:
    """Each option in turn, with some value, comes back as the daemon would have read it alone."""
    option = HANDED_ON[name]
    daemon = server if name in SERVER_OPTIONS else governor
    values = {"log_level": "debug"}
    spelled = (
        f"{(*option.secondary_opts, *option.opts)[0]}"
        if option.is_flag
        else f"{option.opts[0]}={values.get(name, '100')}"
    )

    options = asked("", "--simple", spelled).options

    given = options.of_server if daemon is server else options.of_governors
    default = parsed(daemon, ())
    assert given
    assert parsed(daemon, given) == {**default, name: parsed(daemon, (spelled,))[name]}
    assert parsed(daemon, given)[name] != default[name]


def test_governors_that_are_added_are_told_nothing_of_the_server() -> None:
    local = start_command("local")
    assert local is not None
    names = {parameter.name for parameter in of_governors(local).params}

    assert not names & SERVER_OPTIONS.keys()
    assert names >= GOVERNOR_OPTIONS.keys()
    assert read_order("local", {"store": "1G"}).options.of_governors == ("--store=1G",)


def test_the_help_of_a_start_names_them() -> None:
    command = start_command("local")
    assert command is not None
    shown = command.get_help(click.Context(command, info_name="local"))

    for option in HANDED_ON.values():
        assert (*option.secondary_opts, *option.opts)[0] in shown.split()


def test_type_checkers_know_all_of_them() -> None:
    assert HANDED_ON.keys() <= JobOptions.__annotations__.keys()


def test_a_client_knows_which_of_its_unknown_options_a_cluster_has() -> None:
    assert HANDED_ON.keys() >= OPTIONS_OF_CLUSTERS
