"""Spec 1.12: Execute."""

from pathlib import Path
from typing import Any

import pytest

from rain.base.environment import read_environment
from rain.client import (
    Env,
    Input,
    InputDir,
    Output,
    OutputDir,
    Program,
    RainException,
    Session,
    blob,
    directory,
    tasks,
)


def config_of(*args: Any, **options: Any) -> dict[str, Any]:
    config: dict[str, Any] = tasks.Execute(*args, **options).spec.config
    return config


def test_a_command_line_is_split_as_shells_do(session: Session) -> None:
    task = tasks.Execute("grep -e 'two words' file", name="search", cpus=2)

    assert task.task_type == "buildin/run"
    assert task.spec.config == {
        "args": ["grep", "-e", "two words", "file"],
        "in_paths": [],
        "out_paths": [],
    }
    assert (task.name, task.spec.resources) == ("search", {"cpus": 2})
    assert len(task.outputs) == 0


def test_a_shell_gets_the_joined_words(session: Session) -> None:
    assert config_of(["echo", "$HOME", ">", "x"], shell=True)["args"] == [
        "/bin/sh",
        "-c",
        "echo $HOME > x",
    ]


@pytest.mark.parametrize(
    ("stdout", "label"),
    [(True, "stdout"), ("text", "text"), (Output(), "stdout"), (Output("mine"), "mine")],
)
def test_stdout_is_an_output(session: Session, stdout: Any, label: str) -> None:
    task = tasks.Execute("ls", stdout=stdout)

    assert task.output.label == label
    assert task.spec.config["out_paths"] == ["+out"]


def test_stdin_is_an_input(session: Session) -> None:
    const = blob("x")

    assert config_of("cat", stdin=const)["in_paths"] == [{"path": "+in", "write": False}]
    task = tasks.Execute("cat", stdin=Input("mine", dataobj=const))
    assert task.inputs["mine"] is const
    assert tasks.Execute("cat", stdin=const).inputs["stdin"] is const


def test_inputs_and_outputs_come_in_a_fixed_order(session: Session) -> None:
    a, b, c = blob("a", "a"), blob("b", "b"), blob("c", "c")

    task = tasks.Execute(
        ["tool", c, Output("last"), "-o", Output("named", path="dir/file")],
        stdout="first",
        stdin=a,
        input_paths=[Input("settings", path="etc/settings", dataobj=b, write=True)],
        output_paths=["log", OutputDir("folder", path="out")],
    )

    assert task.inputs.data == [a, b, c]
    assert task.spec.config == {
        "args": ["tool", "c", "last", "-o", "dir/file"],
        "in_paths": [
            {"path": "+in", "write": False},
            {"path": "etc/settings", "write": True},
            {"path": "c", "write": False},
        ],
        "out_paths": ["+out", "log", "out", "last", "dir/file"],
    }
    assert task.outputs.labels == ["first", "log", "folder", "last", "named"]


def test_bare_objects_never_share_a_file_name(session: Session) -> None:
    first, second = blob("1"), blob("2")

    config = config_of(["diff", first, second, Input("const-2", dataobj=blob("3"))])

    assert config["args"] == ["diff", "const", "const-3", "const-2"]
    assert [entry["path"] for entry in config["in_paths"]] == ["const", "const-3", "const-2"]


def test_made_up_names_avoid_outputs(session: Session) -> None:
    config = config_of(["sort", blob("x"), "-o", Output("const")])

    assert config["args"] == ["sort", "const-2", "-o", "const"]


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("a/b", "a_b"),
        ("dir/", "dir"),
        (None, "input"),
        ("..", "input.."),
        ("-rf", "input-rf"),
        ("+in", "input+in"),
    ],
)
def test_labels_become_names_of_files(session: Session, label: str | None, name: str) -> None:
    assert config_of(["cat", blob("x", label)])["args"] == ["cat", name]


def test_one_object_twice_is_one_file(session: Session) -> None:
    const = blob("x")

    task = tasks.Execute(["diff", const, const])
    labelled = tasks.Execute(["diff", Input("f", dataobj=const), Input("f", dataobj=const)])

    assert task.spec.config["args"] == ["diff", "const", "const"]
    assert len(task.inputs) == 1
    assert len(labelled.inputs) == 1


def test_paths_that_were_asked_for_are_not_shared(session: Session) -> None:
    x, y = blob("x"), blob("y")

    with pytest.raises(RainException, match="'f'"):
        tasks.Execute(["diff", Input("f", dataobj=x), Input("f", dataobj=y)])
    with pytest.raises(RainException, match="'f'"):
        tasks.Execute(["cut", Output("f"), Output("f")])
    # A file that the program changes in place is both.
    config = config_of(["sed", "-i", Input("f", dataobj=x, write=True)], output_paths=["f"])
    assert (config["in_paths"][0]["path"], config["out_paths"]) == ("f", ["f"])


def test_directories_are_inputs_and_outputs_too(session: Session) -> None:
    folder = directory({"a": "b"})

    task = tasks.Execute(["cp", "-r", folder, OutputDir("copy")])
    other = tasks.Execute("ls", input_paths=[InputDir("d", dataobj=folder)])

    assert task.spec.config["args"] == ["cp", "-r", "const_dir", "copy"]
    assert other.spec.config["in_paths"] == [{"path": "d", "write": False}]


def test_outputs_without_a_label_are_called_after_their_place(session: Session) -> None:
    task = tasks.Execute(["touch", Output(), Output(path="file")])

    assert task.spec.config["args"] == ["touch", "arg1", "file"]
    assert task.outputs.labels == ["arg1", "arg2"]


def test_tasks_stand_for_their_output(session: Session) -> None:
    first = tasks.Execute("date", stdout="now")

    assert tasks.Execute(["cat", first]).inputs.data == [first.output]
    assert tasks.Execute("cat", stdin=first).inputs.data == [first.output]


@pytest.mark.parametrize(
    ("args", "options"),
    [
        (["cat", Input("x")], {}),
        ([], {}),
        (["cat", Output("x", encode="json")], {}),
        ("cat", {"output_paths": [Output()]}),
    ],
)
def test_descriptions_that_cannot_be_are_refused(
    session: Session, args: Any, options: dict[str, Any]
) -> None:
    with pytest.raises(RainException):
        tasks.Execute(args, **options)


def test_load_is_refused_and_types_must_agree(session: Session) -> None:
    with pytest.raises(RainException, match="load"):
        tasks.Execute(["cat", Input("x", dataobj=blob("x"), load=True)])
    with pytest.raises(RainException, match="are not compatible"):
        tasks.Execute(["cat", Input("x", dataobj=blob("x"), content_type="json")])


@pytest.mark.parametrize(
    ("args", "options"),
    [
        (["cat", 5], {}),
        ("cat", {"stdout": 5}),
        ("cat", {"input_paths": ["x"]}),
        ("cat", {"output_paths": [5]}),
    ],
)
def test_other_things_are_type_errors(session: Session, args: Any, options: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        tasks.Execute(args, **options)


def test_an_environment_joins_that_of_the_session_and_its_folders_are_no_files(
    session: Session, tmp_path: Path
) -> None:
    (tmp_path / "module.py").touch()
    session.environments.default = Env(vars={"A": "a", "B": "b"}, files=tmp_path)
    text = blob("text", "text")
    task = tasks.Execute(["cat", text], env=Env(vars={"B": "B"}))
    environment = read_environment(task.wire_shape.environment)
    assert dict(environment.variables) == {"A": "a", "B": "B"}
    assert [obj.label for obj in task.input_objects] == ["text", "environment files"]
    assert len(task.wire_shape.labels) == 2
    assert [entry["path"] for entry in task.spec.config["in_paths"]] == ["text"]
    assert "env" not in task.spec.config


def test_variables_are_of_the_program_alone_and_leave_it_the_environment_of_its_session(
    session: Session,
) -> None:
    session.environments.default = Env(vars={"A": "a"})
    task = tasks.Execute("ls", env={"A": None})
    assert task.spec.config["env"] == {"A": None}
    assert dict(read_environment(task.wire_shape.environment).variables) == {"A": "a"}


@pytest.mark.parametrize("what", [Program, tasks.Execute])
def test_env_is_variables_or_an_environment(session: Session, what: Any) -> None:
    with pytest.raises(
        RainException, match=r"env is a table of variables or an Env, not \['six'\]"
    ):
        what("ls", env=["six"])
