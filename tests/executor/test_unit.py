"""Units of calls, in a real process: each call as if it was alone, and nothing between them."""

import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgpack
import pytest
from attrs import frozen

from rain.base import executor_protocol as protocol
from rain.base.units import BEFORE, UNIT, failed_task, failure_inside
from tests.executor.child import FOLDER, PICKLED, PLAIN, SESSION, Child, Function, number

KINDS = {
    PLAIN: ("plain", "", "blob", ""),
    FOLDER: ("folder", "", "dir", ""),
    PICKLED: ("pickled", "pickle", "blob", ""),
}


class Before:
    """Stands in an argument for what the call before has made."""

    def __init__(self, load: bool = True, content_type: str | None = None, index: int = 1) -> None:
        self.how = ("value", index, load, content_type)

    def __reduce__(self) -> tuple[Any, ...]:
        from rain.executor.executor import unpickle_input_object  # noqa: PLC0415 # of executors

        return unpickle_input_object, self.how


@frozen
class Step:
    """One call of a unit."""

    function: Function
    args: tuple[Any, ...] = (Before(),)
    output: int = PICKLED
    encode: str | None = "pickle"
    inputs: tuple[int, ...] = (BEFORE,)  # beside the function
    name: str = "step"
    outputs: tuple[int, ...] = ()  # instead of the one


def run(executor: Child, steps: Sequence[Step], inputs: Sequence[Any] = ()) -> list[Any]:
    """The answer of a unit. `inputs` are those of the unit beside its functions."""
    functions = [executor.remember(step.function) for step in steps]
    kinds = list(KINDS)
    task_kinds: list[Any] = []
    calls: list[Any] = []
    configs: list[bytes] = []
    for place, step in enumerate(steps):
        outputs = step.outputs or (step.output,)
        task_kinds.append(
            [step.name, [["cpus", 1]], [], [kinds.index(output) for output in outputs], ""]
        )
        config = {
            "args": [pickle.dumps(arg) for arg in step.args],
            "kwargs": {},
            "encode_outputs": [step.encode] * len(outputs),
        }
        configs.append(msgpack.packb(config))
        given = [place, *(one if one == BEFORE else len(steps) + one for one in step.inputs)]
        made = [number(2000 + 10 * place + i) for i in range(len(outputs))]
        calls.append([number(1000 + place), place, place, given, made])
    inside: dict[str, Any] = {
        "objects": [KINDS[kind] for kind in kinds],
        "kinds": task_kinds,
        "configs": configs,
        "calls": calls,
    }
    executor.task_kinds += 1
    last = [number(output) for output in (steps[-1].outputs or (steps[-1].output,))]
    kind = [number(executor.task_kinds), UNIT, "unit", [["cpus", 1]], [], last, "", b""]
    row = [calls[-1][0], kind[0], msgpack.packb(inside), [*functions, *inputs], calls[-1][4]]
    executor.post(1)
    executor.say(protocol.CALLS, 1, [kind], [], [], [row], None)
    return executor.answer()


def value(answer: list[Any]) -> Any:
    assert not isinstance(answer[2], str), answer[2]
    return pickle.loads(answer[2][0])


def first(function: Function, *args: Any, **how: Any) -> Step:
    return Step(function, args, inputs=(), **how)


def staged(executor: Child) -> list[str]:
    return sorted(path.name for path in (executor.folder / "stage").iterdir())


def test_each_call_reads_what_the_one_before_has_made(executor: Child) -> None:
    answer = run(
        executor,
        [first(lambda ctx, x: x + 1, 1), Step(lambda ctx, x: x * 10), Step(lambda ctx, x: x + 2)],
    )
    assert value(answer) == 22
    assert answer[0] == number(1002)
    assert len(answer) == 3  # no words


def test_the_reader_gets_the_very_object(executor: Child) -> None:
    def make(ctx: Any) -> Any:
        import threading  # noqa: PLC0415 # in the executor

        made: list[Any] = [threading.Lock()]  # which nobody can pickle
        return [*made, id(made[0])]

    answer = run(executor, [first(make), Step(lambda ctx, made: id(made[0]) == made[1])])
    assert value(answer) is True


def test_what_is_read_twice_is_one_object(executor: Child) -> None:
    step = Step(lambda ctx, a, b: a is b, (Before(), Before(index=2)), inputs=(BEFORE, BEFORE))
    assert value(run(executor, [first(lambda ctx: [1]), step])) is True


def test_a_reader_that_wants_an_instance_gets_one(executor: Child) -> None:
    def read(ctx: Any, given: Any) -> Any:
        spec, info = given.spec, given.info
        return given.load(), spec.label, info.size, info.content_type, given.object_id

    answer = run(executor, [first(lambda ctx: (1, 2)), Step(read, (Before(load=False),))])
    size = len(pickle.dumps((1, 2), 5))
    assert value(answer) == ((1, 2), "pickled", size, None, (SESSION, 2000))


def test_other_encodings_give_what_they_give(executor: Child) -> None:
    """A tuple that goes through JSON comes out as a list."""
    answer = run(
        executor, [first(lambda ctx: (1, 2), output=PLAIN, encode="json"), Step(lambda ctx, x: x)]
    )
    assert value(answer) == [1, 2]


def test_bytes_and_text_are_what_they_would_be(executor: Child) -> None:
    plain = {"output": PLAIN, "encode": None}
    text = run(executor, [first(lambda ctx: "äß", **plain), Step(lambda ctx, x: x + "!")])
    assert value(text) == "äß!"
    large = run(
        executor,
        [
            first(lambda ctx: bytes(1_000_000), **plain),
            Step(lambda ctx, x: (x.path, len(x.get_bytes())), (Before(load=False),)),
        ],
    )
    assert value(large) == (None, 1_000_000)
    untyped = run(executor, [first(lambda ctx: b"x", **plain), Step(lambda ctx, x: x)])
    assert "Data without a content type cannot be decoded" in untyped[2]


def test_what_cannot_be_told_fails_in_the_call_that_made_it(executor: Child) -> None:
    answer = run(
        executor, [first(lambda ctx: {1}, output=PLAIN, encode=None), Step(lambda ctx, x: x)]
    )
    assert failed_task(answer[2]) == number(1000)
    assert "return bytes, str or a data instance" in answer[2]


def test_files_and_folders_stay_in_the_stage_folder_until_they_are_read(executor: Child) -> None:
    def stage(ctx: Any) -> Any:
        Path("file").write_text("data", encoding="utf-8")
        Path("left").write_text("of no use", encoding="utf-8")
        ctx.stage_file("left")
        return ctx.stage_file("file", "text")

    def read(ctx: Any, given: Any) -> Any:
        found = given.get_str(), given.info.size, given.content_type, list(Path().iterdir())
        return found, [path.name for path in given.path.parent.iterdir()]

    plain = {"output": PLAIN, "encode": None}
    answer = run(
        executor,
        [first(stage, **plain), Step(read, (Before(load=False),)), Step(lambda ctx, x: x)],
    )
    found, there = value(answer)
    assert found == ("data", 4, "text", [])
    assert len(there) == 1
    assert staged(executor) == []


def test_a_folder_is_handed_over_and_passed_on(executor: Child) -> None:
    def stage(ctx: Any) -> Any:
        Path("folder").mkdir()
        Path("folder/one").write_text("data", encoding="utf-8")
        return ctx.stage_directory("folder")

    folder: dict[str, Any] = {"output": FOLDER, "encode": None}
    instance = (Before(load=False),)
    answer = run(executor, [first(stage, **folder), Step(lambda ctx, x: x, instance, **folder)])
    ((what, path, _, _),) = answer[2]
    assert what == protocol.FILE
    assert (Path(path) / "one").read_text(encoding="utf-8") == "data"
    assert [Path(path).name] == staged(executor)
    looked = run(
        executor,
        [
            first(stage, **folder),
            Step(lambda ctx, x: (x.info.size, [p.name for p in x.path.iterdir()]), instance),
        ],
    )
    size, names = value(looked)
    assert size > 4
    assert names == ["one"]


def test_a_file_that_is_returned_twice_is_two_files(executor: Child) -> None:
    def stage(ctx: Any) -> Any:
        Path("file").write_text("data", encoding="utf-8")
        return ctx.stage_file("file")

    twice = Step(lambda ctx, x: [x, x], (Before(load=False),), outputs=(PLAIN, PLAIN), encode=None)
    answer = run(executor, [first(stage, output=PLAIN, encode=None), twice])
    paths = [Path(path) for _, path, _, _ in answer[2]]
    assert [path.read_text(encoding="utf-8") for path in paths] == ["data", "data"]
    assert sorted(path.name for path in paths) == staged(executor)
    assert len(set(paths)) == 2


def test_inputs_of_the_unit_are_passed_on_by_their_names(executor: Child) -> None:
    given = [number(50), number(PLAIN), "text", "", 3, b"abc"]
    plain: dict[str, Any] = {"output": PLAIN, "encode": None}
    instance = (Before(load=False),)
    steps = [
        Step(lambda ctx, x: x, instance, inputs=(0,), **plain),
        Step(lambda ctx, x: x, instance, **plain),
        Step(lambda ctx, x: x, instance, **plain),
    ]
    answer = run(executor, steps, [given])
    assert answer[2] == [[protocol.INPUT, number(50), "text", ""]]
    read = run(executor, [*steps, Step(lambda ctx, x: (x, ctx.spec.name))], [given])
    assert value(read) == ("abc", "step")


def test_later_calls_read_inputs_of_the_unit_too(executor: Child) -> None:
    given = [number(50), number(PICKLED), "", "", 3, pickle.dumps(30)]
    step = Step(lambda ctx, a, b: a + b, (Before(), Before(index=2)), inputs=(BEFORE, 0))
    assert value(run(executor, [first(lambda ctx: 4), step, step], [given])) == 64


def test_each_call_has_a_context_of_its_own(executor: Child) -> None:
    def look(ctx: Any, *before: Any) -> Any:
        spec = ctx.spec
        mine = (spec.id.id, spec.name, [one.id.id for one in spec.inputs], spec.outputs[0].id)
        return [*(before[0] if before else []), mine]

    answer = run(executor, [first(look, name="one"), Step(look, name="two")])
    functions = [executor.functions - 1, executor.functions]
    assert value(answer) == [
        (1000, "one", [functions[0]], 2000),
        (1001, "two", [functions[1], 2000], 2010),
    ]


def test_words_say_whose_they_are(executor: Child) -> None:
    def speak(ctx: Any, *before: Any) -> Any:
        ctx.debug("first line\nsecond line")
        ctx.info.user["note"] = 1
        return 0

    quiet = Step(lambda ctx, x: x)
    answer = run(executor, [first(speak, name="a"), quiet, Step(speak, name="b")])
    assert answer[3].split("\n") == [
        "1 of 3 (a): first line",
        "1 of 3 (a): second line",
        "3 of 3 (b): first line",
        "3 of 3 (b): second line",
    ]
    assert answer[4] == '{"1": {"note": 1}, "3": {"note": 1}}'


def test_a_failure_names_its_call_and_keeps_the_words_before(executor: Child) -> None:
    def fail(ctx: Any, given: Any) -> None:
        ctx.debug("about to fail")
        raise ValueError("it went wrong")

    def never(ctx: Any, given: Any) -> None:
        Path("/nowhere/at/all").touch()

    def speak(ctx: Any) -> int:
        ctx.debug("all is well")
        return 1

    answer = run(executor, [first(speak), Step(fail, name="second"), Step(never)])
    first_line, second_line, *_ = answer[2].split("\n")
    assert first_line == f"Task {SESSION}/1001 'second', call 2 of 3 in this unit, has failed:"
    assert second_line == "Traceback (most recent call last):"
    assert "rain/executor" not in answer[2]
    assert failed_task(answer[2]) == number(1001)
    assert answer[3] == "1 of 3 (step): all is well\n2 of 3 (second): about to fail"
    assert executor.value(lambda ctx: 1) == 1


def test_a_failure_leaves_no_file(executor: Child) -> None:
    def stage(ctx: Any) -> Any:
        Path("file").write_text("data", encoding="utf-8")
        return ctx.stage_file("file")

    def fail(ctx: Any, given: Any) -> None:
        raise ValueError

    answer = run(
        executor,
        [first(stage, output=PLAIN, encode=None), Step(fail, (Before(load=False),))],
    )
    assert "ValueError" in answer[2]
    assert staged(executor) == []


def test_at_most_two_values_are_alive(executor: Child) -> None:
    """The one that is read and the one that is made, however long the unit is."""

    class Value:
        def __init__(self, counts: list[int]) -> None:
            self.counts = counts
            counts[0] += 1
            counts[1] = max(counts)

        def __del__(self) -> None:
            self.counts[0] -= 1

    def make(ctx: Any, *before: Any) -> Any:
        return Value(before[0].counts if before else [0, 0])

    steps = [first(make), *(Step(make) for _ in range(6)), Step(lambda ctx, x: x.counts[1])]
    assert value(run(executor, steps)) == 2


def test_a_unit_runs_in_one_executor_with_others_behind_it(executor: Child) -> None:
    for length in (2, 30):
        steps = [first(lambda ctx: 0), *(Step(lambda ctx, x: x + 1) for _ in range(length - 1))]
        assert value(run(executor, steps)) == length - 1
    assert executor.value(lambda ctx, x: x, 7) == 7


def place(executor: Child) -> int:
    content = (executor.folder / protocol.PLACE_FILE).read_bytes()
    assert len(content) == protocol.PLACE
    return int.from_bytes(content, "little")


def test_the_place_of_the_call_that_runs_is_written_down(executor: Child) -> None:
    def read(ctx: Any, *places: Any) -> Any:
        from pathlib import Path  # noqa: PLC0415 # in the executor

        return [*(places[0] if places else ()), Path("../place").read_bytes()[0]]

    answer = run(executor, [first(read), Step(read), Step(read)])
    assert value(answer) == [1, 2, 3]
    assert place(executor) == 0


def test_it_is_written_down_no_more_when_a_call_has_failed(executor: Child) -> None:
    answer = run(
        executor, [first(lambda ctx: 1), Step(lambda ctx, x: x / 0), Step(lambda ctx, x: x)]
    )
    assert "ZeroDivisionError" in answer[2]
    assert place(executor) == 0


def test_without_room_for_the_place_units_run(executor: Child) -> None:
    (executor.folder / protocol.PLACE_FILE).mkdir()
    assert value(run(executor, [first(lambda ctx: 1), Step(lambda ctx, x: x + 1)])) == 2


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ValueError",
        "Task 1/2",
        "Task one/2 in this unit, has failed:",
        "Task 0/2 in this unit, has failed:",
        "Task 1 in this unit, has failed:",
    ],
)
def test_other_failures_name_no_task(text: str) -> None:
    assert failed_task(text) is None


def test_a_failure_names_its_task_whatever_the_name() -> None:
    for name in ("step", "two\nlines", "it's 1/2", ""):
        assert failed_task(failure_inside(number(7), name, 1, 2, "text")) == number(7)


@pytest.mark.parametrize(
    "inside",
    [
        None,
        {},
        {"objects": [], "kinds": [], "configs": [], "calls": [[1, 0, 0, [0], [2]]]},
        {"objects": [], "kinds": [], "configs": [b""], "calls": [[1, 0, 0, [0, -1], [2]]]},
        {"objects": [], "kinds": [], "configs": [], "calls": [[1]]},
    ],
)
def test_what_is_no_unit_fails_and_nothing_else_does(executor: Child, inside: object) -> None:
    function_id = executor.remember(lambda ctx: 1)
    kind = [number(900), UNIT, "unit", [["cpus", 1]], [], [], "", b""]
    row = [number(1), kind[0], msgpack.packb(inside), [function_id], []]
    executor.post(1)
    executor.say(protocol.CALLS, 1, [kind], [], [], [row], None)
    assert executor.answer()[2].startswith("this is not a unit: ")
    assert executor.value(lambda ctx: 1) == 1
