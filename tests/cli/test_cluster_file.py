"""cluster.toml says what a command line says; what is wrong in it is named with its line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from rain.base.errors import StartError
from rain.cli.cluster_file import line_of, read_cluster_file, read_values
from rain.cli.start_alone import start_command, start_names
from rain.cli.start_command import start
from rain.start.governors import BatchGovernors, LocalGovernors, RemoteGovernors, Scale
from rain.start.options import StartRequest

SLURM = """
launcher = "slurm"
governors = 4
cpus = 16
memory = "64G"
time = 01:30:00
options = ["--partition=long", "--qos=high"]
before = '''
module load python
cpus=3
'''

listen = 7300
http-host = ["head", "head.example.org"]
logdir = "logs"
journal = "none"
insecure = true
"""


@pytest.fixture
def orders(monkeypatch: pytest.MonkeyPatch) -> list[StartRequest]:
    """What starts were asked for; none takes place."""
    found: list[StartRequest] = []

    def instead(self: StartRequest) -> None:
        found.append(self)
        raise StartError("asked")

    monkeypatch.setattr(StartRequest, "start", instead)
    return found


def order(folder: Path, text: str, **more: Any) -> StartRequest:
    file = folder / "cluster.toml"
    file.write_text(text)
    return read_cluster_file(file).order(more)


def command_of(name: str) -> click.Command:
    command = start_command(name)
    assert command is not None
    return command


def test_a_file_asks_for_what_the_command_line_asks_for(
    tmp_path: Path, orders: list[StartRequest]
) -> None:
    file = tmp_path / "cluster.toml"
    file.write_text(SLURM)

    CliRunner().invoke(start, [str(file)])
    CliRunner().invoke(
        start,
        [
            *("slurm", "--governors", "4", "--cpus", "16", "--memory", "64G"),
            *("--time", "1:30:00", "--before", "module load python\ncpus=3\n"),
            *("--listen", "7300", "--http-host", "head", "--http-host", "head.example.org"),
            *("--logdir", str(tmp_path / "logs"), "--journal", "none", "--insecure"),
            *("--", "--partition=long", "--qos=high"),
        ],
    )

    assert orders[0] == orders[1] == read_cluster_file(file).order({})
    assert isinstance(orders[0].governors, BatchGovernors)


def test_what_the_command_line_or_the_program_says_wins(
    tmp_path: Path, orders: list[StartRequest]
) -> None:
    file = tmp_path / "cluster.toml"
    file.write_text(SLURM)

    CliRunner().invoke(start, [str(file), "--governors", "2", "--", "--partition=short"])
    (asked,) = orders

    assert asked == read_cluster_file(file).order(
        {"governors": 2, "options": ["--partition=short"]}
    )
    assert isinstance(asked.governors, BatchGovernors)
    assert (asked.governors.count, asked.governors.cpus) == (2, 16)
    assert asked.governors.options == ("--partition=short",)


@pytest.mark.parametrize("name", ["", *start_names()])
def test_each_option_of_each_command_has_one_name_in_the_file(name: str) -> None:
    command = command_of(name)
    given: dict[str, object] = {}
    for parameter in command.params:
        key = max(parameter.opts, key=len).lstrip("-")
        flag = isinstance(parameter, click.Option) and parameter.is_flag
        number = isinstance(parameter.type, click.IntRange | click.FloatRange)
        given["options" if key == "further" else key] = flag or (64 if number else "pbs")
        if isinstance(parameter.type, click.Choice):
            given[key] = parameter.type.choices[0]
    for key in given.keys() & {"memory", "time", "idle", "cache-limit"}:
        given[key] = "3h" if key in {"time", "idle"} else "3G"
    given["env"] = {"A": 1, "B": "two words"}
    given["resource"] = {"licence": 2}

    assert read_values(command, given).keys() == {parameter.name for parameter in command.params}


def test_governors_without_a_launcher_are_those_of_rain_start(tmp_path: Path) -> None:
    asked = order(tmp_path, 'local-governors = "[4,2]"\nrunprefix = "nice -n 5"')

    assert asked.governors == LocalGovernors((4, 2))
    assert asked.options.runprefix == ("nice", "-n", "5")


KINDS = """
launcher = "slurm"
idle = "2m"
before = "module load python"
listen = 7300

[[kinds]]
max = 50
cpus = 16
options = ["--partition=cpu"]

[[kinds]]
kind = "gpu"
max = 4
cpus = 8
gpus = 2
idle = "5m"
options = ["--partition=gpu"]
[kinds.env]
CUDA_CACHE_DISABLE = 1

[[kinds]]
launcher = "local"
governors = 2
cpus = 1
"""


def test_several_kinds_have_what_is_said_for_all_of_them_and_what_is_said_for_each(
    tmp_path: Path,
) -> None:
    first = order(tmp_path, KINDS)
    second, third = first.kinds

    assert first.governors == BatchGovernors("slurm", 0, cpus=16, options=("--partition=cpu",))
    assert first.scale == Scale(50, idle=120.0)
    assert second.governors == BatchGovernors(
        "slurm", 0, cpus=8, gpus=2, options=("--partition=gpu",)
    )
    assert second.scale == Scale(4, idle=300.0, kind="gpu")
    assert third.governors == LocalGovernors((1, 1))
    assert [one.options.before for one in (first, second, third)] == ["module load python"] * 3
    assert [one.options.env for one in (first, second)] == [(), (("CUDA_CACHE_DISABLE", "1"),)]
    assert [one.options.listen for one in (first, second)] == ["7300", ""]


def test_the_first_kind_may_have_a_fixed_number_and_each_its_own_launcher(tmp_path: Path) -> None:
    first = order(
        tmp_path,
        'idle = "2m"\ncpus = 4\nlisten = "0"\n[[kinds]]\nlauncher = "local"\ngovernors = 2\n'
        '[[kinds]]\nlauncher = "ssh"\nhosts = ["n1", "n2"]\nmax = 2\n',
    )
    (second,) = first.kinds

    assert (first.governors, first.scale) == (LocalGovernors((4, 4)), None)
    assert (second.governors, second.scale) == (RemoteGovernors(("n1", "n2")), Scale(2, idle=120.0))


def test_hosts_are_a_list_or_a_file_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "my-hosts").write_text("node1\nnode2 # mine\n")

    listed = order(tmp_path, 'launcher = "ssh"\nhosts = ["node1", "node2"]')
    read = order(tmp_path, 'launcher = "ssh"\nhosts = "my-hosts"')

    assert listed.governors == read.governors == RemoteGovernors(("node1", "node2"))


def test_paths_are_relative_to_the_file_and_know_the_home_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/ada")

    asked = order(tmp_path, 'simple = true\nlogdir = "logs"\nworkdir = "~/work"')

    assert asked.options.logdir == tmp_path / "logs"
    assert asked.options.workdir == Path("/home/ada/work")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            'launcher = "slurm"\n\n# many\ngoverners = 3',
            "cluster.toml, line 4: rain start slurm has no option 'governers': did you mean 'gov",
        ),
        ("locl_governors = '[1]'", "rain start has no option 'locl_governors': did you mean 'loc"),
        ('launcher = "slrum"', "cluster.toml, line 1: no launcher 'slrum': did you mean 'slurm'?"),
        ("launcher = 3", "no launcher 3: there are local, ssh, slurm"),
        ('launcher = "slurm"\nbefore = """\ncpus = 1\n"""\ncpus = "x"', "line 5: cpus: 'x' is not"),
        ('launcher = "slurm"\ncpus = 2.5', "line 2: cpus: '2.5' is not"),
        ('launcher = "slurm"\ncpus = true', "cpus: it is one word or number, and not True"),
        ('launcher = "slurm"\ntime = 60', "line 2: time: '60' is not a time limit"),
        ('launcher = "slurm"\nmemory = "much"', "line 2: memory: 'much' is not a size"),
        ("simple = 1", "line 1: simple: it is true or false, and not 1"),
        ("simple = true\nhttp-listen = 1\nhttp_listen = 2", "line 3: 'http_listen' is given twice"),
        ('simple = true\nrunprefix = "\'"', 'line 2: runprefix: "\'" is not a command'),
        ('launcher = "slurm"', "give --governors N, or --max N"),
        (
            'launcher = "slurm"\n[[kinds]]\nmax = 1\n\n[[kinds]]\ncpus = 2\ngpu = 2',
            "line 7: rain start slurm has no option 'gpu': did you mean 'gpus'?",
        ),
        (
            'launcher = "slurm"\nmax = 3\n[[kinds]]\ncpus = 2',
            "line 2: 'max' belongs into each of the [[kinds]]",
        ),
        (
            'launcher = "slurm"\ngpu = 3\n[[kinds]]\nmax = 2\n[[kinds]]\nmax = 1',
            "line 2: rain start slurm has no option 'gpu': did you mean 'gpus'?",
        ),
        ('launcher = "slurm"\nkinds = 3', "line 2: kinds are tables: write [[kinds]] above each"),
        (
            'launcher = "slurm"\n[[kinds]]\nmax = 1\n[[kinds]]\nlauncher = "slrum"',
            "line 5: no launcher 'slrum': did you mean 'slurm'?",
        ),
        ("simple = ", "is not TOML: Invalid value (at end of document"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(StartError) as caught:
        order(tmp_path, text)

    assert words in str(caught.value)


def test_a_file_that_is_not_there_and_a_misspelled_word_of_a_program_are_named(
    tmp_path: Path,
) -> None:
    with pytest.raises(StartError, match=r"nowhere\.toml cannot be read: No such file"):
        read_cluster_file(tmp_path / "nowhere.toml")
    with pytest.raises(StartError, match=r"^rain start slurm has no option 'cpu': did you mean"):
        order(tmp_path, SLURM, cpu=3)


def test_the_line_of_a_key_is_where_it_begins() -> None:
    text = 'a = 1\n\n# b = 3\nb = [\n  2,\n]\nc = """\nd = 1\n"""\nd = 4\n'

    assert [line_of(text, key) for key in "abcd"] == [1, 4, 7, 10]
