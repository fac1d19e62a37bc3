"""Which governors a start asks for."""

import pytest

from rain.base.errors import StartError
from rain.start.governors import (
    LocalGovernors,
    RemoteGovernors,
    choose_way,
    once_each,
    read_hosts,
    read_local_governors,
)


def test_one_way_of_naming_governors_is_taken() -> None:
    assert choose_way(["--simple"]) == "--simple"


def test_no_governors_at_all_are_refused() -> None:
    with pytest.raises(StartError, match="no governors: use --simple"):
        choose_way([])


def test_local_and_remote_governors_cannot_be_combined() -> None:
    with pytest.raises(StartError, match="--simple and --autoconf cannot be combined"):
        choose_way(["--simple", "--autoconf"])


def test_each_number_of_the_list_is_a_governor_with_that_number_of_cpus() -> None:
    assert read_local_governors("[4, 4,2]") == LocalGovernors((4, 4, 2))


@pytest.mark.parametrize("text", ["", "4", "[]", "[4", "[0]", "[-1]", "[true]", '["4"]', "[1.5]"])
def test_what_is_not_a_list_of_cpus_is_refused_by_name(text: str) -> None:
    with pytest.raises(StartError, match="is not a list of cpus"):
        read_local_governors(text)


def test_a_host_file_names_one_host_a_line_and_has_comments() -> None:
    text = "# the nodes\n\nalpha\n  user@beta  # the big one\n#gamma\nalpha\n"

    assert read_hosts(text, "hosts") == RemoteGovernors(("alpha", "user@beta", "alpha"))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("# nobody\n", "hosts names no host"),
        ("alpha\nbeta gamma\n", "hosts, line 2: 'beta gamma' is more than one host"),
        ("-oProxyCommand=reboot\n", "line 1: '-oProxyCommand=reboot' is not a host"),
    ],
)
def test_a_wrong_host_file_is_refused_with_its_line(text: str, complaint: str) -> None:
    with pytest.raises(StartError, match=complaint):
        read_hosts(text, "hosts")


def test_a_node_that_pbs_names_once_for_each_process_gets_one_governor() -> None:
    named = RemoteGovernors(("n1", "n1", "n2", "n1"))

    assert once_each(named) == RemoteGovernors(("n1", "n2"))
