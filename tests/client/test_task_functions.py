"""Functions that say themselves what their calls need: `@task`."""

from __future__ import annotations

from typing import Any

import pytest

from rain.client import Client, task


@task
def plain(x: int) -> int:
    return x + 1


@task(name="named")
def with_options(x: int) -> int:
    return 2 * x


def test_a_function_may_be_marked_with_options_or_without(rain_client: Client) -> None:
    assert (plain(1), with_options(1)) == (2, 2)
    futures = [rain_client.submit(plain, 1), rain_client.submit(with_options, 2)]
    assert rain_client.gather(futures) == [2, 4]
    assert [future.name for future in futures] == ["plain", "named"]


def test_an_option_without_its_name_is_refused_by_name() -> None:
    anything: Any = 3
    with pytest.raises(TypeError, match=r"options have names: @task\(tries=3\)"):
        task(anything)
