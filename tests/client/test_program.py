"""Spec 1.13: programs."""

from pathlib import Path

import pytest

from rain.client import (
    Input,
    InputDir,
    Output,
    Program,
    RainException,
    RainWarning,
    Session,
    blob,
    directory,
)


def test_a_call_fills_the_inputs_by_their_labels(session: Session) -> None:
    program = Program(
        ["join", Input("left"), Input("right", path="r.txt")],
        stdout=Output("joined", content_type="text"),
        stdin="feed",
        input_paths=["settings", InputDir("folder")],
        output_paths=["log"],
        name="join",
        cpus=2,
        resources={"licence": 1},
    )
    left, right, feed, settings = (blob(text, text) for text in ("l", "r", "f", "s"))
    folder = directory()

    task = program(left=left, right=right, feed=feed, settings=settings, folder=folder)

    assert task.inputs.data == [feed, settings, folder, left, right]
    assert task.spec.config["args"] == ["join", "left", "r.txt"]
    assert [entry["path"] for entry in task.spec.config["in_paths"]] == [
        "+in",
        "settings",
        "folder",
        "left",
        "r.txt",
    ]
    assert task.outputs.labels == ["joined", "log"]
    assert task.outputs["joined"].content_type == "text"
    assert (task.name, task.spec.resources) == ("join", {"cpus": 2, "licence": 1})
    assert program.name == "join"


def test_a_program_makes_as_many_tasks_as_it_is_called(session: Session) -> None:
    program = Program("sort", stdin="lines", stdout=True)

    first, second = program(lines=blob("b")), program(lines=blob("a"), name="second")

    assert first.inputs.data != second.inputs.data
    assert (first.name, second.name) == (None, "second")


def test_a_missing_input_is_a_key_error_and_a_surplus_one_is_ignored(session: Session) -> None:
    program = Program(["cat", Input("file")])

    with pytest.raises(KeyError, match="file"):
        program()
    with pytest.raises(KeyError, match="file"):
        Program("cat", stdin="file")(name="x")
    assert len(program(file=blob("x"), output=Output("ignored")).outputs) == 0
    assert session.task_count == 1


def test_inputs_of_a_program_have_labels_and_no_data(session: Session) -> None:
    with pytest.raises(RainException, match="label"):
        Program(["cat", Input()])
    with pytest.raises(RainException, match="data object"):
        Program(["cat", Input("x", dataobj=blob("x"))])
    with pytest.raises(RainException, match="load"):
        Program(["cat", Input("x", load=True)])
    with pytest.raises(RainException, match="encode"):
        Program(["cat", Output("x", encode="json")])
    with pytest.raises(TypeError):
        Program(["cat", blob("x")])


def test_a_shell_works_with_inputs(session: Session) -> None:
    program = Program(["cat", Input("a"), "|", "wc"], shell=True, stdout=True)

    assert program(a=blob("x")).spec.config["args"] == ["/bin/sh", "-c", "cat a | wc"]


def test_writable_inputs_stay_writable(session: Session) -> None:
    program = Program(["sed", "-i", Input("a", write=True)], output_paths=["a"])

    assert program(a=blob("x")).spec.config["in_paths"] == [{"path": "a", "write": True}]


def test_data_without_a_label_is_refused_with_what_to_write(session: Session) -> None:
    with pytest.raises(RainException, match=r"write program\(text=\.\.\.\)"):
        Program(["wc"], stdin="text")(blob("rain"))


def test_a_text_as_data_is_told_of_both_that_it_may_mean(session: Session) -> None:
    with pytest.raises(RainException, match=r"tasks\.Load\(\) .* of the file .*blob\(\)"):
        Program(["wc"], stdin="text")(text="a.txt")


def test_a_warning_of_a_program_names_the_line_of_its_call(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "script.py").write_text("")
    with pytest.warns(RainWarning, match="is a file of your folder") as warned:
        Program(["python3", "script.py"])()
    assert warned[0].filename == __file__
