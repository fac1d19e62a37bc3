from __future__ import annotations

from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from rain.lab.network import Network, Transfer

MEMBERS = 5
CAPACITIES = st.lists(st.integers(1, 100), min_size=MEMBERS, max_size=MEMBERS)
FLOWS = st.lists(
    st.tuples(
        st.integers(0, MEMBERS - 1),
        st.integers(0, MEMBERS - 1),
        st.integers(0, 1000),
        st.integers(0, 20),
    ),
    min_size=1,
    max_size=30,
)
CLOSE = 1e-9


def links_of(transfer: Transfer) -> tuple[tuple[str, int], tuple[str, int]]:
    return ("up", transfer.source), ("down", transfer.target)


def used(transfers: list[Transfer]) -> dict[tuple[str, int], float]:
    """Bytes per second on every link."""
    found: dict[tuple[str, int], float] = {}
    for transfer in transfers:
        for link in links_of(transfer):
            found[link] = found.get(link, 0.0) + transfer.rate
    return found


def assert_fair(network: Network, up: list[int], down: list[int]) -> None:
    """No link is overfull, and every transfer is held up by a full link where nobody has more."""
    capacity = {("up", i): c for i, c in enumerate(up)} | {
        ("down", i): c for i, c in enumerate(down)
    }
    transfers = network.transfers()
    load = used(transfers)
    for link, rate in load.items():
        assert rate <= capacity[link] * (1 + CLOSE)
    for transfer in transfers:
        assert transfer.rate > 0
        assert any(
            load[link] >= capacity[link] * (1 - CLOSE)
            and all(
                other.rate <= transfer.rate * (1 + CLOSE)
                for other in transfers
                if link in links_of(other)
            )
            for link in links_of(transfer)
        )


@given(CAPACITIES, CAPACITIES, FLOWS)
def test_the_shares_are_max_min_fair_after_every_start_and_every_end(
    up: list[int], down: list[int], flows: list[tuple[int, int, int, int]]
) -> None:
    # given
    network = Network(up, down)
    starts = sorted((time, source, target, size) for source, target, size, time in flows)
    now, ended = 0.0, 0
    # when: transfers start and end in the order of time
    while starts or network.active:
        now = min(network.next_end(), starts[0][0] if starts else float("inf"))
        ended += len(network.take_ended(now))
        while starts and starts[0][0] <= now:
            _, source, target, size = starts.pop(0)
            network.start(source, target, size, now)
        network.settle(now)
        # then
        assert_fair(network, up, down)
    assert ended == len(flows)


@given(CAPACITIES, FLOWS)
def test_every_byte_is_carried_and_none_is_carried_twice(
    capacities: list[int], flows: list[tuple[int, int, int, int]]
) -> None:
    # given
    network = Network(capacities, capacities)
    starts = sorted((time, source, target, size) for source, target, size, time in flows)
    carried: dict[int, float] = {}
    sizes: dict[int, int] = {}
    now = 0.0
    # when: what is carried is added up from the rates, from one instant to the next
    while starts or network.active:
        then = min(network.next_end(), starts[0][0] if starts else float("inf"))
        for transfer in network.transfers():
            carried[transfer.number] += transfer.rate * (then - now)
        now = then
        network.take_ended(now)
        while starts and starts[0][0] <= now:
            _, source, target, size = starts.pop(0)
            number = network.start(source, target, size, now).number
            sizes[number], carried[number] = size, 0.0
        network.settle(now)
    # then
    for number, size in sizes.items():
        assert abs(carried[number] - size) <= 1e-6 * (size + 1)


@given(CAPACITIES, FLOWS)
def test_levels_that_are_mended_are_those_that_are_made_anew(
    capacities: list[int], flows: list[tuple[int, int, int, int]]
) -> None:
    # given: one network that mends, and one that has no patience for it
    mended, anew = Network(capacities, capacities), Network(capacities, capacities)
    pairs: list[tuple[Transfer, Transfer]] = []
    for number, (source, target, size, time) in enumerate(flows):
        # when: another transfer starts, and now and then one is given up
        started = mended.start(source, target, size, 0.0), anew.start(source, target, size, 0.0)
        pairs.append(started)
        if time > 15:
            first, second = pairs.pop(number % len(pairs))
            mended.stop(first)
            anew.stop(second)
        mended.settle(0.0)
        with patch("rain.lab.network.PATIENCE", -1000):
            anew.settle(0.0)
        # then
        for one, other in pairs:
            assert abs(one.rate - other.rate) <= CLOSE * other.rate


def test_a_transfer_alone_has_the_whole_of_the_narrower_link() -> None:
    network = Network([10.0, 10.0], [10.0, 4.0])
    network.start(0, 1, 8.0, 0.0)
    network.settle(0.0)
    assert network.next_end() == 2.0


def test_transfers_that_share_a_link_have_equal_parts_until_one_of_them_ends() -> None:
    # given: two leave member 0, and one of them goes where another from member 1 goes
    network = Network([10.0] * 4, [10.0] * 4)
    first = network.start(0, 2, 100.0, 0.0)
    second = network.start(0, 3, 100.0, 0.0)
    third = network.start(1, 3, 100.0, 0.0)
    # when
    network.settle(0.0)
    # then
    assert [first.rate, second.rate, third.rate] == [5.0, 5.0, 5.0]
    # when: the first is given up
    network.stop(first)
    network.settle(1.0)
    # then: the link into member 3 holds both that are left
    assert [second.rate, third.rate] == [5.0, 5.0]
    # when
    network.stop(third)
    network.settle(2.0)
    # then: 90 of 100 bytes are left at that time
    assert second.rate == 10.0
    assert network.next_end() == 2.0 + 9.0


def test_what_does_not_hang_together_with_a_change_is_not_touched() -> None:
    network = Network([10.0] * 4, [10.0] * 4)
    apart = network.start(0, 1, 100.0, 0.0)
    network.settle(0.0)
    version = apart.version
    network.start(2, 3, 100.0, 1.0)
    network.settle(1.0)
    assert apart.version == version


def test_an_empty_transfer_ends_at_once() -> None:
    network = Network([1.0, 1.0], [1.0, 1.0])
    transfer = network.start(0, 1, 0.0, 3.0)
    network.settle(3.0)
    assert network.next_end() == 3.0
    assert network.take_ended(3.0) == [transfer]
    assert network.active == 0
