"""Options and arguments with names that nobody knows."""

# pyright: reportCallIssue=false, reportArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false
# mypy: disable-error-code="call-arg,call-overload,arg-type"

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import rain.client
from rain.client import AsyncClient, Client, as_completed, remote, task


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with Client(local=True) as made:
        yield made


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("send_task", r"no attribute 'send_task': write client.submit\(f, \*args\)$"),
        ("bash_app", r"'bash_app': write rain.client.tasks.Execute\(command\), in a session$"),
        ("scatter", r"'Client' object has no attribute 'scatter': write client.put\(value\)$"),
        ("starmap", r"write client.map\(f, \*zip\(\*tuples\)\)$"),
        ("asynchronous", r"write scheduler=client.dask for Dask"),
        ("map_async", r"write client.map\(f, items\)$"),
        ("who_has", r"write future.info\(\).runs\[-1\].governor, where the call ran$"),
        ("wait_for_workers", r"write nothing: calls wait until there is a governor$"),
        ("gatherr", r"'Client' object has no attribute 'gatherr'$"),
    ],
)
def test_a_method_of_other_libraries_is_answered_with_ours(
    client: Client, name: str, told: str
) -> None:
    with pytest.raises(AttributeError, match=told) as raised:
        getattr(client, name)
    assert (raised.value.name, raised.value.obj) == (name, client)


def test_a_method_of_the_loops_of_dask_is_answered_with_ours() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'next_batch': write next\(running\)$"):
        as_completed([]).next_batch()  # type: ignore[attr-defined] # pyright: ignore[reportAttributeAccessIssue] # as users of Dask do


def test_a_name_of_other_libraries_is_answered_with_ours_where_it_is_imported() -> None:
    with pytest.raises(ImportError, match=r"'wait' from 'rain.client': write client.wait\("):
        exec("from rain.client import Client, wait")  # noqa: S102 # mypy would refuse it
    with pytest.raises(ImportError, match=r"cannot import name 'waiter' from 'rain.client' \("):
        exec("from rain.client import waiter")  # noqa: S102 # as above
    with pytest.raises(AttributeError, match=r"no attribute 'secede': write nothing: a task that"):
        getattr(rain.client, "secede")  # noqa: B009 # as above
    assert not hasattr(rain.client, "wait")


def test_a_method_that_only_the_plain_client_has_is_answered_with_what_is_awaited() -> None:
    with pytest.raises(AttributeError, match=r"'AsyncClient' .* 'wait': write await client.gath"):
        getattr(AsyncClient(), "wait")  # noqa: B009 # type checkers see no such method


def test_an_async_client_that_is_awaited_says_how_it_is_opened() -> None:
    async def main() -> None:
        await AsyncClient(local=True)

    with pytest.raises(TypeError, match="write async with AsyncClient"):
        asyncio.run(main())


def power(base: int, exponent: int = 1) -> int:
    return int(base**exponent)


def anything(**words: int) -> dict[str, int]:
    return words


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda c: c.options(cpu=2), "options has no option 'cpu': did you mean 'cpus'?"),
        (
            lambda c: c.options(retries=3),
            "options has no option 'retries': write tries=4, as the first run counts, too",
        ),
        (lambda _: remote(max_retries=0), "remote has no option 'max_retries': write tries=1"),
        (lambda c: c.submit(power, 1, retries=3), r"client.options\(tries=4\).submit\(...\), as"),
        (lambda c: c.options(num_gpus=1), r"write resources={\"gpus\": 1}"),
        (lambda _: Client(n_jobs=2), "Client has no option 'n_jobs': write cpus="),
        (lambda _: Client(cpu=2), "Client has no option 'cpu': did you mean 'cpus'?"),
        (lambda _: AsyncClient(cpu=2), "AsyncClient has no option 'cpu': did you mean 'cpus'?"),
        (lambda c: c.options(tires=2), "options has no option 'tires': did you mean 'tries'?"),
        (lambda c: c.executor(memroy=1), "executor has no option 'memroy': did you mean 'memory'?"),
        (lambda c: c.executor(mp_context=None), "'mp_context': leave it out, since processes of"),
        (lambda _: task(prioritty=1), "task has no option 'prioritty': did you mean 'priority'?"),
        (lambda _: remote(cpus_=1), "remote has no option 'cpus_': did you mean 'cpus'?"),
        (lambda _: remote(autoload=True), "remote has no option 'autoload': did you mean"),
        (
            lambda c: c.options(colour=1),
            "options has no option 'colour': it has name, cpus, memory",
        ),
        (
            lambda c: c.submit(power, 1, prioritty=3),
            r"options are given before the call: client.options\(priority=3\).submit\(...\)",
        ),
        (lambda c: c.submit(power, 1, cpus=2), r"client.options\(cpus=2\).submit\(...\)"),
        (lambda c: c.submit(power, 1, exponnt=3), "did you mean 'exponent'?"),
        (lambda c: c.options(runtime_env={}), r"write env=Env\(...\)$"),
        (lambda c: c.options(key="a"), "'key': write name=$"),
        (lambda c: c.submit(power, 1, pure=False), r"for client.options\(...\), write nothing: "),
        (lambda _: Client(n_workers=2), "Client has no option 'n_workers': write governors=$"),
        (lambda _: Client(memory_limit="4G"), "'memory_limit': write memory=$"),
        (lambda _: Client(num_gpus=2), r"'num_gpus': write resources={\"gpus\": 2}"),
        (
            lambda _: Client(crash_limit=5),
            r"'crash_limit': write Cluster.local\(crash_limit=...\).client\(\)",
        ),
        (lambda _: Client(pure=True), "Client has no option 'pure': it has address"),
        (lambda c: c.submit(power, 1, zzz=3), "unexpected keyword argument 'zzz'$"),
    ],
)
def test_a_misspelled_name_is_named_with_what_was_meant(
    client: Client, ask: Callable[[Any], object], told: str
) -> None:
    with pytest.raises(TypeError, match=told) as caught:
        ask(client)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["remote", "submit", "delay", "apply_async"])
def test_a_function_with_options_says_how_it_is_called(name: str) -> None:
    with pytest.raises(AttributeError, match=rf"'{name}': write client.submit\(power, ...\)$"):
        getattr(task(power), name)
    assert not hasattr(task(power), "colour")


def test_a_function_that_takes_any_name_gets_it(client: Client) -> None:
    assert client.submit(anything, prioritty=3).result() == {"prioritty": 3}


def test_names_that_are_right_are_taken(client: Client) -> None:
    assert client.options(cpus=2, priority=1).submit(power, 2, exponent=3).result() == 8
