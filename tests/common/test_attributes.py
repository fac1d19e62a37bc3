import pytest

from rain.common import ID, RainException
from rain.common.attributes import (
    ObjectInfo,
    ObjectSpec,
    SessionSpec,
    TaskInfo,
    TaskSpec,
    TaskSpecInput,
)
from rain.common.runs import RunInfo


def test_json_leaves_out_what_is_empty() -> None:
    spec = TaskSpec(ID(1, 12), "py/", inputs=[TaskSpecInput(ID(1, 10), "a")])

    assert spec.to_json() == {
        "id": [1, 12],
        "task_type": "py/",
        "inputs": [{"id": [1, 10], "label": "a"}],
    }
    assert TaskInfo().to_json() == {}
    assert SessionSpec("name").to_json() == {"name": "name"}


def test_a_run_says_only_what_it_knows() -> None:
    info = TaskInfo(runs=[RunInfo(1, "host:1", "failed", "executor", "killed")])

    assert info.to_json() == {
        "runs": [
            {
                "number": 1,
                "governor": "host:1",
                "state": "failed",
                "cause": "executor",
                "error": "killed",
            }
        ]
    }


def test_a_config_that_counts_as_false_is_not_empty() -> None:
    assert TaskSpec(ID(1, 12), "buildin/sleep", 0.0).to_json()["config"] == 0.0


@pytest.mark.parametrize(
    "value",
    [
        TaskSpec(
            ID(1, 12),
            "buildin/run",
            {"args": ["ls"]},
            [TaskSpecInput(ID(1, 10), "a"), TaskSpecInput(ID(1, 11))],
            [ID(1, 13)],
            {"cpus": 2},
            "name",
            {"note": [1]},
        ),
        TaskInfo("error", "2026-01-01T00:00:00Z", 1.5, "host:1", {"a": 1}, "debug"),
        TaskInfo(
            runs=[RunInfo(1, state="failed", cause="task"), RunInfo(2, "host:1", duration=0.5)]
        ),
        ObjectSpec(ID(1, 13), "label", "json", "dir", {"a": 1}),
        ObjectInfo("", 5, "json", {"a": 1}),
        SessionSpec("name", {"a": 1}),
    ],
)
def test_json_is_read_back(value: TaskSpec) -> None:
    assert type(value).from_json(value.to_json()) == value


def test_unknown_names_are_refused() -> None:
    with pytest.raises(RainException, match="TaskInfo has no colour"):
        TaskInfo.from_json({"colour": "red"})
    with pytest.raises(RainException, match="TaskSpecInput has no size"):
        TaskSpec.from_json({"id": [1, 2], "task_type": "x", "inputs": [{"id": [1, 3], "size": 1}]})
