"""What is said to a remote shell, and what it answers."""

import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from rain.start import processes
from rain.start.plan import PlannedDaemon
from rain.start.processes import ProcessMark
from rain.start.remote import (
    Arrived,
    Ended,
    Failed,
    LogLine,
    Note,
    Ready,
    RemoteAccess,
    Report,
    Started,
    end_script,
    read_report,
    start_script,
)
from tests.start.world import RAIN, ROOT
from tests.support.effort import examples

HERE = RemoteAccess(("ssh",), ROOT, rain=RAIN)

# Of what a path may hold: all but the end of a string, and what is no text.
WORDS = st.text(st.characters(exclude_characters="\0\n", exclude_categories=["Cs"]), min_size=1)


def run(script: str, until: type[Report] = Ended) -> list[Report]:
    """What a shell answers to a script, whose session is cut off after the first such answer."""
    reports: list[Report] = []
    with subprocess.Popen(
        ["/bin/sh"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as shell:
        assert shell.stdin is not None
        assert shell.stdout is not None
        shell.stdin.write(script)
        for line in shell.stdout:
            report = read_report(line.removesuffix("\n"))
            if report is not None:
                reports.append(report)
            if isinstance(report, until):
                shell.stdin.close()
    return reports


@pytest.mark.parametrize(
    ("line", "report"),
    [
        ("arrived", Arrived()),
        ("started 17 4242 5e-b0", Started(ProcessMark(17, 4242, "5e-b0"))),
        ("ready 10.0.0.1:7210", Ready("10.0.0.1:7210")),
        ("ready 10.0.0.1:7210 10.0.0.1:7222", Ready("10.0.0.1:7210", "10.0.0.1:7222")),
        ("note goes on with 1 session", Note("goes on with 1 session")),
        ("ended 137", Ended(137)),
        ("failed the folder /x cannot be entered", Failed("the folder /x cannot be entered")),
        ("| the log", LogLine("the log")),
        ("| ", LogLine("")),
    ],
)
def test_the_lines_of_a_session_are_read(line: str, report: Report) -> None:
    assert read_report(line) == report


@pytest.mark.parametrize("line", ["", "Welcome!", "ready", "ready  ", "ended soon", "started 1"])
def test_what_login_files_print_is_passed_over(line: str) -> None:
    assert read_report(line) is None


@settings(max_examples=examples(30))
@given(words=st.lists(WORDS, min_size=1, max_size=3), init=WORDS)
def test_every_word_arrives_as_it_was_sent(words: list[str], init: str) -> None:
    with TemporaryDirectory(prefix="it's $HOME `") as name:
        folder = Path(name)
        access = RemoteAccess(("ssh",), folder, f"VARIABLE={_quoted(init)}")
        daemon = PlannedDaemon("governor-0", ("printf", r"%s\n", *words), folder / 'a "log" \\')

        reports = run(start_script(daemon, access, "no boot", 0.0))

        assert Ended(0) in reports
        assert daemon.output.read_bytes().decode().split("\n")[:-3] == words


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\"'\"'") + "'"


def test_a_folder_that_is_not_there_is_told_by_name(tmp_path: Path) -> None:
    access = RemoteAccess(("ssh",), tmp_path / "it's gone")
    daemon = PlannedDaemon("governor-0", ("true",), tmp_path)

    reports = run(start_script(daemon, access, "", 0.0))

    assert reports == [Arrived(), Failed(f"the folder {tmp_path}/it's gone cannot be entered")]


def test_a_log_that_cannot_be_written_is_told_by_name(tmp_path: Path) -> None:
    daemon = PlannedDaemon("governor-0", ("true",), tmp_path)
    daemon.errors.mkdir()

    reports = run(start_script(daemon, RemoteAccess(("ssh",), tmp_path), "", 0.0))

    assert reports == [Arrived(), Failed(f"the log {daemon.errors} cannot be written")]


def test_a_log_folder_that_cannot_be_made_is_told_by_name(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    daemon = PlannedDaemon("governor-0", ("true",), tmp_path / "file" / "logs")

    reports = run(start_script(daemon, RemoteAccess(("ssh",), tmp_path), "", 0.0))

    assert reports == [Arrived(), Failed(f"the folder {tmp_path}/file/logs cannot be made")]


def test_commands_before_the_governor_may_not_fail(tmp_path: Path) -> None:
    daemon = PlannedDaemon("governor-0", ("true",), tmp_path)

    reports = run(start_script(daemon, RemoteAccess(("ssh",), tmp_path, "false"), "", 0.0))

    assert reports == [Arrived(), Failed("the commands before the governor failed")]


@pytest.mark.parametrize(("boot", "cpus"), [(processes.boot(), "--cpus=-1"), ("another", "")])
def test_a_cpu_is_reserved_only_on_the_machine_of_the_server(
    tmp_path: Path, boot: str, cpus: str
) -> None:
    command = ("printf", "%s ")
    daemon = PlannedDaemon("governor-0", command, tmp_path, beside_server=("--cpus=-1",))

    run(start_script(daemon, RemoteAccess(("ssh",), tmp_path), boot, 0.0))

    assert daemon.output.read_text().split() == [*([cpus] if cpus else []), "--ready-fd", "3"]


def test_the_end_of_the_session_ends_the_governor(tmp_path: Path) -> None:
    daemon = PlannedDaemon("governor-0", ("sh", "-c", "echo ready a:1 >&3; sleep 1000"), tmp_path)

    reports = run(start_script(daemon, HERE, "", 60.0), until=Started)

    [started] = [report for report in reports if isinstance(report, Started)]
    assert Ended(128 + 15) in reports
    assert not processes.is_running(started.mark)


def test_a_governor_that_does_not_heed_the_end_of_the_session_is_killed(tmp_path: Path) -> None:
    stubborn = ("sh", "-c", "trap '' TERM; echo ready a:1 >&3; while :; do sleep 1000; done")
    daemon = PlannedDaemon("governor-0", stubborn, tmp_path)

    reports = run(start_script(daemon, HERE, "", 0.05), until=Ready)

    assert Ended(128 + 9) in reports


def test_processes_of_a_host_are_ended_by_the_same_code_as_here(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "1000"], start_new_session=True) as process:
        mark = processes.mark(process.pid)
        assert mark is not None
        shell = subprocess.run(
            ["/bin/sh"],
            input=end_script(HERE, [mark], 10.0),
            capture_output=True,
            text=True,
            check=True,
        )

        assert shell.stdout.split() == [processes.spell_mark(mark), "stopped"]
        assert process.wait() == -15


def test_a_secret_reaches_the_governor_through_a_descriptor_and_no_command_line(
    tmp_path: Path,
) -> None:
    word = "Sec$(ret)`'\"" + "0" * 16
    program = 'word=$(cat <&5); echo "$word" >"$0"; echo "$@" >>"$0"; echo ready there:1 >&3'
    told = tmp_path / "told"
    daemon = PlannedDaemon("governor-0", ("sh", "-c", program, str(told)), tmp_path, "alpha")
    script = start_script(daemon, evolve(HERE, secret=word), "another", 5.0)

    assert Ready("there:1") in run(script)

    first, second = told.read_text(encoding="ascii").splitlines()
    assert first == word
    assert second == "--ready-fd 3 --secret-fd 5"
    assert "Sec" not in repr(evolve(HERE, secret=word))


def test_a_certificate_and_a_secret_reach_the_governor_through_descriptors(
    tmp_path: Path,
) -> None:
    content = "-----BEGIN PRIVATE KEY-----\n$(key)\n-----END PRIVATE KEY-----\n"
    program = 'cat <&6 >"$0"; cat <&5 >>"$0"; echo "$@" >>"$0"; echo ready there:1 >&3'
    told = tmp_path / "told"
    daemon = PlannedDaemon("governor-0", ("sh", "-c", program, str(told)), tmp_path, "alpha")
    handing = evolve(HERE, secret="a-secret", certificate=content)

    assert Ready("there:1") in run(start_script(daemon, handing, "another", 5.0))

    said = told.read_text(encoding="ascii")
    assert said == f"{content}\na-secret\n--ready-fd 3 --secret-fd 5 --tls-fd 6\n"
    assert "PRIVATE" not in repr(handing)
