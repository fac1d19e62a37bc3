"""From what was asked for to exact command lines."""

from pathlib import Path

import pytest
from attrs import evolve

from rain.base.errors import StartError
from rain.launchers.surroundings import NOTHING, Surroundings
from rain.start.governors import BatchGovernors, LocalGovernors, RemoteGovernors
from rain.start.plan import (
    Settings,
    check_reach,
    is_encrypted,
    needs_secret,
    plan_governors,
    plan_server,
    plan_template,
    run_rain,
    seen_from_governors,
)

LOGS = Path("/logs")
SIMPLE = Settings(LocalGovernors((None,)), ("python", "-m", "rain"), LOGS)
REMOTE = evolve(SIMPLE, governors=RemoteGovernors(("alpha", "user@beta")))
SERVER = "127.0.0.1:7210"


def commands(settings: Settings) -> list[str]:
    """The command lines of the governors, as one would type them."""
    return [" ".join(daemon.command) for daemon in plan_governors(settings, SERVER)]


def test_a_simple_start_runs_a_server_that_only_this_machine_reaches() -> None:
    server = plan_server(SIMPLE)

    assert " ".join(server.command) == (
        "python -m rain server --listen 127.0.0.1:7210 --logdir /logs/server"
    )
    assert (server.output, server.errors) == (LOGS / "server.out", LOGS / "server.err")


def test_a_simple_start_runs_one_governor_with_all_cpus() -> None:
    assert commands(SIMPLE) == ["python -m rain governor 127.0.0.1:7210 --logdir /logs/governor-0"]


def test_daemons_get_the_options_that_they_are_handed() -> None:
    settings = evolve(SIMPLE, of_server=("--scheduler=heft",), of_governors=("--store=1G",))

    assert "--scheduler=heft --logdir" in " ".join(plan_server(settings, "standby").command)
    assert commands(settings) == [
        "python -m rain governor 127.0.0.1:7210 --store=1G --logdir /logs/governor-0"
    ]


def test_a_reserved_cpu_is_left_to_the_server() -> None:
    assert commands(evolve(SIMPLE, reserve_cpu=True)) == [
        "python -m rain governor 127.0.0.1:7210 --cpus=-1 --logdir /logs/governor-0"
    ]


def test_listed_governors_get_their_cpus() -> None:
    assert commands(evolve(SIMPLE, governors=LocalGovernors((4, 2)))) == [
        "python -m rain governor 127.0.0.1:7210 --cpus=4 --share=0/2 --logdir /logs/governor-0",
        "python -m rain governor 127.0.0.1:7210 --cpus=2 --share=1/2 --logdir /logs/governor-1",
    ]


def test_a_reserved_cpu_contradicts_a_list_of_cpus() -> None:
    listed = evolve(SIMPLE, governors=LocalGovernors((4,)), reserve_cpu=True)

    with pytest.raises(StartError, match="-S and --local-governors cannot be combined"):
        plan_governors(listed, SERVER)


def test_each_governor_gets_its_own_folder_below_the_work_folder() -> None:
    settings = evolve(SIMPLE, governors=LocalGovernors((1, 1)), work_folder=Path("/work"))

    assert commands(settings) == [
        "python -m rain governor 127.0.0.1:7210 --cpus=1"
        f" --share={number}/2 --workdir /work/governor-{number} --logdir /logs/governor-{number}"
        for number in range(2)
    ]
    assert "--workdir /work/server" in " ".join(plan_server(settings).command)


def test_large_constants_are_where_large_data_is() -> None:
    settings = evolve(SIMPLE, work_folder=Path("/large"))
    assert "--journal /large/journal" in " ".join(plan_server(settings).command)
    for other in (evolve(settings, journal=Path("none")), evolve(settings, listen_port=0)):
        assert "/large/journal" not in " ".join(plan_server(other).command)


def test_the_journal_is_the_servers() -> None:
    settings = evolve(SIMPLE, journal=Path("/journal"))
    assert "--journal /journal" in " ".join(plan_server(settings).command)
    assert not any("/journal" in command for command in commands(settings))


def test_addresses_and_configuration_are_handed_on() -> None:
    settings = evolve(
        SIMPLE,
        listen_host="node",
        listen_port=0,
        http_listen="8080",
        http_hosts=("login.example", "rain"),
        advertise="head.example",
        governor_config=Path("/etc/rain.toml"),
        cache_limit="50GiB",
    )

    assert " ".join(plan_server(settings).command) == (
        "python -m rain server --listen node:0 --http-listen 8080 --http-host login.example"
        " --http-host rain --http-host head.example --logdir /logs/server"
    )
    (command,) = commands(settings)
    assert command == (
        "python -m rain governor 127.0.0.1:7210 --config /etc/rain.toml --cache-limit 50GiB"
        " --logdir /logs/governor-0"
    )


def test_the_run_prefix_comes_before_every_daemon() -> None:
    settings = evolve(SIMPLE, run_prefix=("strace", "-o", "a file"))

    for daemon in (plan_server(settings), *plan_governors(settings, SERVER)):
        assert daemon.command[:6] == ("strace", "-o", "a file", "python", "-m", "rain")


def test_remote_governors_and_their_server_can_be_reached_from_outside() -> None:
    governors = plan_governors(REMOTE, "node:7210")

    assert "0.0.0.0:7210" in plan_server(REMOTE).command
    assert [daemon.host for daemon in governors] == ["alpha", "user@beta"]
    assert " ".join(governors[1].command) == (
        "python -m rain governor node:7210 --listen 0.0.0.0:0 --logdir /logs/governor-1"
    )


def test_a_port_alone_says_nothing_about_who_may_reach_the_server() -> None:
    assert "127.0.0.1:7300" in plan_server(evolve(SIMPLE, listen_port=7300)).command
    assert "0.0.0.0:7300" in plan_server(evolve(REMOTE, listen_port=7300)).command


def test_a_remote_governor_reserves_a_cpu_only_beside_the_server() -> None:
    for daemon in plan_governors(evolve(REMOTE, reserve_cpu=True), SERVER):
        assert daemon.beside_server == ("--cpus=-1",)
        assert not [word for word in daemon.command if "cpus" in word]


@pytest.mark.parametrize(
    ("listening", "seen"),
    [
        ("0.0.0.0:7210", "node:7210"),
        ("[::]:7210", "node:7210"),
        ("10.0.0.1:7210", "10.0.0.1:7210"),
    ],
)
def test_governors_are_told_where_the_server_can_be_found(listening: str, seen: str) -> None:
    assert seen_from_governors(listening, "node") == seen


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_a_server_on_loopback_is_refused_for_other_machines(host: str) -> None:
    with pytest.raises(StartError, match="the governor on alpha cannot reach a server"):
        check_reach(host, ("localhost", "alpha"), frozenset({"node"}))


def test_a_server_on_loopback_does_for_governors_on_its_own_machine() -> None:
    check_reach("127.0.0.1", ("localhost", "me@node", "127.0.0.1"), frozenset({"node"}))
    check_reach("10.0.0.1", ("alpha",), frozenset({"node"}))


def test_files_of_the_user_cannot_take_the_place_of_modules() -> None:
    assert run_rain("python", Path("/site"), Path("/home")) == ("python", "-P", "-m", "rain")


def test_a_bare_checkout_runs_from_its_own_folder() -> None:
    assert run_rain("python", Path("/rain"), Path("/rain")) == ("python", "-m", "rain")


def test_a_secret_is_needed_as_soon_as_other_machines_reach_the_cluster() -> None:
    assert not needs_secret(SIMPLE)
    assert not needs_secret(evolve(SIMPLE, listen_host="localhost", http_listen="7222"))
    assert needs_secret(REMOTE)
    assert needs_secret(evolve(SIMPLE, listen_host="0.0.0.0"))
    assert needs_secret(evolve(SIMPLE, http_listen="node:7222"))
    assert not needs_secret(evolve(SIMPLE, http_listen="none"))


def test_the_secret_of_the_daemons_here_is_named_by_its_file_and_that_of_others_is_not() -> None:
    file = Path("/secret")
    here = evolve(SIMPLE, secret_file=file)
    for daemon in (plan_server(here), *plan_governors(here, SERVER)):
        assert "--secret-file /secret" in " ".join(daemon.command)
    for daemon in plan_governors(evolve(REMOTE, secret_file=file), SERVER):
        assert "secret" not in " ".join(daemon.command)


def test_daemons_without_a_secret_are_told_that_this_is_meant() -> None:
    for settings in (evolve(SIMPLE, insecure=True), evolve(REMOTE, insecure=True)):
        for daemon in (plan_server(settings), *plan_governors(settings, SERVER)):
            assert "--insecure" in daemon.command


def test_daemons_here_are_told_the_folder_of_certificates_and_others_are_handed_theirs() -> None:
    folder = Path("/keys")
    assert "--tls /keys" in " ".join(plan_server(evolve(SIMPLE, tls=folder)).command)
    assert "--tls /keys" in commands(evolve(SIMPLE, tls=folder))[0]
    assert "--tls" not in commands(evolve(REMOTE, tls=folder))[0]
    assert "--tls none" in commands(evolve(REMOTE, tls=Path("none")))[0]


def test_a_cluster_that_encrypts_needs_no_secret() -> None:
    assert not needs_secret(evolve(REMOTE, tls=Path("/keys")))
    assert needs_secret(evolve(REMOTE, tls=Path("none")))
    assert not is_encrypted(evolve(REMOTE, tls=Path("/keys"), insecure=True))


def test_what_is_around_a_governor_makes_each_a_program_of_its_own() -> None:
    around = Surroundings(before="module load x", environment=(("A", "1"),))
    settings = evolve(SIMPLE, around=around, governors=LocalGovernors((1, 1)))

    (governor, _) = plan_governors(settings, SERVER)

    assert plan_template(settings) is None
    assert plan_template(evolve(settings, around=NOTHING)) is not None
    assert governor.command[:2] == ("/bin/sh", "-c")
    assert governor.command[2].startswith("export A=1\nmodule load x\nexec python -m rain governor")
    (remote, _) = plan_governors(evolve(REMOTE, around=around), SERVER)
    assert remote.command[0] == "python"  # the shell of the session has run them


def test_data_is_kept_in_the_scratch_folder_and_a_container_has_its_own_rain() -> None:
    around = Surroundings(container="rain.sif", scratch="/scratch")
    governors = BatchGovernors("slurm", 1)
    settings = evolve(SIMPLE, around=around, governors=governors, secret_file=Path("/s/secret"))

    (governor,) = plan_governors(settings, SERVER)

    text = governor.command[2]
    assert "--bind /s/secret" in text
    assert "rain.sif python3 -m rain governor" in text
    assert '--workdir "$scratch"/governor-0' in text
