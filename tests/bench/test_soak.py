"""The parts of the soak that need no cluster."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from bench.soak.jobs import JOBS
from bench.soak.tally import Tally, rows
from rain.client import Client

BEGUN = '{"begun": "chain", "seed": 7}'
DONE = '{"done": "chain", "seconds": 1.0}'


@pytest.mark.parametrize("kind", JOBS.keys() - {"cancelled"})  # those calls would sleep here
def test_each_job_knows_its_answer(kind: str) -> None:
    with Client(local=True) as client:
        found, right = JOBS[kind](client, Random(5))
    assert found == right


def test_a_job_whose_client_was_killed_is_not_lost() -> None:
    tally = Tally()
    tally.add([BEGUN, '{"done": "cha', BEGUN, DONE])
    assert (tally.done, tally.cut, tally.bad) == (Counter(chain=1), 1, [])


def test_a_job_whose_client_was_killed_is_not_lost_if_the_next_client_has_nothing_to_do() -> None:
    tally = Tally()
    tally.add(['{"lives": true}', BEGUN, '{"lives": true}', '{"ended": true}'])
    assert (tally.cut, tally.bad) == (1, [])


def test_a_job_without_an_end_is_lost() -> None:
    tally = Tally()
    tally.add([BEGUN])
    assert tally.bad == ["chain, seed 7: it has not ended"]


def test_a_wrong_answer_is_told_with_its_seed() -> None:
    tally = Tally()
    tally.add([BEGUN, '{"wrong": "chain", "seed": 7, "why": "1 instead of 2"}'])
    assert tally.bad == ["chain, seed 7: 1 instead of 2"]
    assert rows(Counter(), tally)[-1] == ("wrong or lost", 1)
