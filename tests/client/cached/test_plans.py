"""What tasks say of their keys."""

import decimal
import json
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest

from rain.base.caching import CONFIG_KEY, OWN_FOLDER
from rain.cache.plan import KeyPlan, read_plan
from rain.client import (
    Env,
    Input,
    Output,
    Program,
    RainException,
    Session,
    Task,
    blob,
    pickled,
    remote,
    tasks,
)
from rain.client.cached.plans import checked_cache
from rain.client.futures.plain import PlainCalls
from rain.client.options import Options

KEEPING = Options.of(cache=True)


def f(x: Any, y: Any = 1, *more: Any, **named: Any) -> Any:
    return x, y, more, named


def plan_of(task: Task) -> KeyPlan:
    return read_plan(task.wire_config, len(task.input_objects))


def parts(task: Task) -> dict[str, str]:
    return dict(plan_of(task).parts)


def call(session: Session, *args: Any, options: Options = KEEPING, **named: Any) -> Task:
    """A plain call of f."""
    return PlainCalls(session, lambda future: future).new_task(f, args, named, options)


def test_a_task_without_a_cache_says_nothing_of_a_key(session: Session) -> None:
    task = call(session, 1, options=Options.of(cpus=2))
    assert CONFIG_KEY not in msgpack.unpackb(task.wire_config)
    assert task.wire_shape.cache == ""


def test_a_call_has_a_part_for_its_function_and_for_each_argument(session: Session) -> None:
    task = call(session, 1)
    arguments = [f"argument {name}" for name in ("x", "y", "more", "named")]
    assert list(parts(task)) == ["function", "outputs", "Python", *arguments]
    assert task.wire_shape.cache == OWN_FOLDER


def test_however_an_argument_is_given_it_is_the_same_call(session: Session) -> None:
    calls = [call(session, 3), call(session, x=3), call(session, 3, 1), call(session, y=1, x=3)]
    assert len({tuple(sorted(parts(task).items())) for task in calls}) == 1
    assert parts(call(session, 3, 2)) != parts(calls[0])


def test_how_a_function_calculates_is_a_part_of_it(session: Session) -> None:
    usual = parts(call(session, 1))["function"]
    found = {usual}
    for precision in (3, 50):
        with decimal.localcontext(prec=precision):
            found.add(parts(call(session, 1))["function"])
    assert len(found) == 3
    assert parts(call(session, 1))["function"] == usual


def test_the_content_of_data_is_a_part_wherever_it_stands(session: Session) -> None:
    one, other = blob("one"), blob("other")
    plan = plan_of(call(session, one, [2, {"a": other, "b": one}]))
    assert plan.inputs == (("argument x", 1), ("argument y", 2), ("argument y", 1))


def test_where_data_stands_in_an_argument_counts(session: Session) -> None:
    one, other = blob("one"), blob("other")
    digests = [
        parts(call(session, [one, other]))["argument x"],
        parts(call(session, [[one], other]))["argument x"],
        parts(call(session, ["1", "2"]))["argument x"],
    ]
    assert len(set(digests)) == 3


def test_a_large_argument_counts_by_its_value_and_not_by_its_upload(session: Session) -> None:
    table = np.arange(100_000)
    plan = plan_of(call(session, table))
    assert plan.inputs == ()
    assert plan.parts == plan_of(call(session, table.copy())).parts


def test_the_calls_of_one_session_have_one_name_for_their_run(session: Session) -> None:
    assert plan_of(call(session, 1)).run == plan_of(call(session, 2)).run
    other = Session(None, 4)
    with other:
        assert plan_of(call(other, 1)).run != plan_of(call(session, 1)).run


def test_a_cache_key_is_a_part(session: Session) -> None:
    with_key = call(session, 1, options=Options.of(cache=True, cache_key="1.2"))
    assert set(parts(with_key)) == {*parts(call(session, 1)), "cache_key"}


def test_a_remote_function_counts_with_how_it_gets_its_inputs(session: Session) -> None:
    @remote(cache=True)
    def plain(ctx: Any, text: Any) -> Any:
        return text

    @remote(cache=True, auto_load=True)
    def loaded(ctx: Any, text: Any) -> Any:
        return text

    data = pickled("text")
    assert parts(plain(data))["function"] != parts(loaded(data))["function"]
    assert plan_of(plain(data)).inputs == (("argument text", 1),)
    assert parts(plain(data)) == parts(plain(text=data))
    assert parts(plain(data))["outputs"] != parts(plain(data, output=Output("a")))["outputs"]


def test_a_program_counts_by_its_words_its_files_and_its_environment(session: Session) -> None:
    def program(args: Any = ("sort", "-n"), **words: Any) -> Task:
        return Program(list(args), stdin="lines", stdout=True, cache=True, **words)(lines=blob("1"))

    plain = program()
    assert list(parts(plain)) == ["command", "environment"]
    assert plan_of(plain).inputs == (("input lines", 0),)
    assert parts(program(timeout=5, cpus=2, name="sorted")) == parts(plain)
    assert parts(program(["sort", "-r"]))["command"] != parts(plain)["command"]
    assert parts(program(output_paths=["made"]))["command"] != parts(plain)["command"]
    assert parts(program(env={"LANG": "C"}))["environment"] != parts(plain)["environment"]
    assert "cache_key" in parts(program(cache_key=2))


def test_an_executed_program_names_its_inputs(session: Session) -> None:
    task = tasks.Execute(
        ["cat", Input("genome", dataobj=blob("a")), blob("b")], stdout=True, cache=Path("kept")
    )
    assert [words for words, _ in plan_of(task).inputs] == ["input genome", "input arg2"]
    assert task.wire_shape.cache == str(Path("kept").absolute())
    assert CONFIG_KEY in json.loads(task.wire_config)


def test_a_changed_shape_keeps_its_cache(session: Session) -> None:
    task = call(session, 1)
    task.spec.name = "another"
    task.settle()
    assert (task.wire_shape.name, task.wire_shape.cache) == ("another", OWN_FOLDER)


@pytest.mark.parametrize("given", [1, 0, "", b"folder", 0.5, ["folder"]])
def test_what_is_no_folder_is_refused(given: object) -> None:
    with pytest.raises(RainException, match="cache is True, or the path of a folder"):
        checked_cache("f", given)


def test_a_folder_is_told_by_its_absolute_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert checked_cache("f", "~/kept") == "/home/me/kept"
    assert checked_cache("f", "kept") == str(Path.cwd() / "kept")
    assert [checked_cache("f", given) for given in (None, False)] == ["", ""]


def test_a_key_without_a_cache_is_refused(session: Session) -> None:
    with pytest.raises(RainException, match="cache_key has no effect without"):
        Options.of(cache_key=1)
    with pytest.raises(RainException, match="cache_key has no effect without"):
        tasks.Execute("ls", cache_key=1)


def test_the_key_of_a_program_says_its_environment(session: Session) -> None:
    plain, loud, other = (
        parts(tasks.Execute("ls", cache=True, env=env))
        for env in ({"A": "1"}, Env(vars={"A": "1"}), Env(vars={"A": "2"}))
    )
    keys = [found["environment"] for found in (plain, loud, other)]
    assert len(set(keys)) == 3
    session.environments.default = Env(vars={"B": "b"})
    assert parts(tasks.Execute("ls", cache=True, env={"A": "1"}))["environment"] not in keys
