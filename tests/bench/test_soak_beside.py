"""The parts of the soak beside peers that need no cluster."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from click.testing import CliRunner

from bench.soak.beside.plan import ROUNDS, Fault, plan
from bench.soak.beside.systems import is_connected
from bench.soak.beside.table import Outcome, details, table
from bench.soak.beside.works import WORKS
from bench.soak.command import command

CONNECTING = '{"connecting": "dask"}'
BEGUN = '{"begun": "chain", "seed": 7}'
DONE = '{"done": "chain"}'
FAILED = '{"failed": "chain", "why": "KilledWorker: step\\nmore"}'
ENDED = '{"ended": true}'
HUNG = '{"hung": true}'


class Here:
    """Runs each call at once."""

    def submit(self, function: Callable[..., object], *arguments: object) -> object:
        return function(*arguments)

    def result(self, call: Any) -> object:
        return call


@pytest.mark.parametrize("kind", WORKS)
def test_each_work_knows_its_answer(kind: str) -> None:
    found, right = WORKS[kind](Here(), Random(5))
    assert found == right


@pytest.mark.parametrize("name", ROUNDS)
def test_the_plan_of_a_round_follows_from_its_seed(name: str) -> None:
    assert plan(name, 1, 60.0) == plan(name, 1, 60.0) != plan(name, 2, 60.0)


@pytest.mark.parametrize("name", ROUNDS)
def test_a_round_hits_its_parts_within_its_time(name: str) -> None:
    faults = plan(name, 1, 60.0)
    assert {fault.part for fault in faults} == set(ROUNDS[name])
    assert sum(fault.after for fault in faults) <= 60.0
    assert all(bool(fault.stopped) == (name in ("stopped", "link cut")) for fault in faults)


def test_each_choice_is_one_of_the_processes() -> None:
    pids = [30, 10, 20]
    victims = [Fault(1.0, "worker", choice, 0.0).victim(pids) for choice in (0.0, 0.5, 0.999)]
    assert victims == [10, 20, 30]


def outcome(*lines: str) -> Outcome:
    found = Outcome("worker killed", "dask", thrown=3)
    found.add(lines)
    return found


def test_an_error_is_counted_by_its_first_line() -> None:
    found = outcome(CONNECTING, BEGUN, DONE, BEGUN, FAILED, ENDED, CONNECTING, ENDED)
    assert (found.begun, found.right, found.unconnected) == (2, 1, 0)
    assert details([found]) == ["dask, worker killed: 1 x KilledWorker: step"]


def test_work_whose_program_ends_without_a_word_is_an_error() -> None:
    found = outcome(CONNECTING, BEGUN, CONNECTING, BEGUN, DONE, ENDED)
    assert found.errors == {"the program ended with the cluster": 1}


def test_work_that_does_not_end_has_hung_and_a_client_without_work_has_not_connected() -> None:
    found = outcome(CONNECTING, BEGUN, HUNG, CONNECTING, HUNG, CONNECTING)
    assert (found.hung, found.unconnected, found.errors) == (1, 2, {})


def test_a_wrong_answer_is_told_with_its_seed() -> None:
    found = outcome(CONNECTING, BEGUN, '{"wrong": "chain", "seed": 7, "why": "1 instead of 2"}')
    assert details([found]) == ["dask, worker killed: chain, seed 7: 1 instead of 2"]


def test_the_table_has_a_row_for_each_round() -> None:
    text = table([outcome(CONNECTING, BEGUN, DONE, BEGUN, FAILED, ENDED)])
    assert text.splitlines()[2] == "| worker killed | dask | 3 | 2 | 1 | 1 | 0 | 0 | 0 | 0 |"
    assert len({line.count("|") for line in text.splitlines()}) == 1


def test_an_unknown_peer_is_refused_by_name() -> None:
    result = CliRunner().invoke(command, ["--peers", "dask,spark"])
    assert result.exit_code == 2
    assert "'spark' is no peer of the soak; there are dask and ray" in result.output


def test_an_unknown_round_is_refused_by_name() -> None:
    result = CliRunner().invoke(command, ["--peers", "dask", "--rounds", "server killed,flood"])
    assert result.exit_code == 2
    assert "'flood' is no round; there are worker killed, node killed, stopped" in result.output


def test_a_process_is_connected_to_an_address_while_it_has_a_connection() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        assert not is_connected(os.getpid(), address)
        with socket.create_connection(server.getsockname()):
            assert is_connected(os.getpid(), address)
        assert not is_connected(os.getpid(), address)
