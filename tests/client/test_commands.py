"""Mistakes in the command of a program are found before anything is sent."""

from pathlib import Path
from typing import Any

import pytest

from rain.client import File, Input, Output, Program, RainException, Session, blob, tasks


@pytest.mark.parametrize(
    "args",
    [
        "sort names | head -n 1",
        "sort names > sorted",
        "sort names >sorted",
        "make 2>&1",
        "make 2> errors",
        "wc < names",
        "cd folder && ls",
        "cd folder; ls",
        "sleep 1 &",
        ["sort", "names", "|", "head"],
        ["sort", "names", "| head"],
        ["sort", "names", ">", "sorted"],
        ["sort", Output("sorted"), "2>&1"],
        ["true", "&&", "false"],
        "ls $HOME",
        'ls "${HOME}/my files"',
        "ls $(pwd)",
        "ls `pwd`",
        "ls ~",
        "cat ~/names",
        "cat ~me/names",
        "wc *.csv",
        "wc data/*",
        "wc data/part-*.csv",
        ["ls", "$HOME"],
        ["ls", "${DATA}/names"],
        ["ls", "~/names"],
    ],
)
def test_what_only_a_shell_understands_asks_for_one(session: Session, args: Any) -> None:
    with pytest.raises(RainException, match="write shell=True for a shell") as refused:
        tasks.Execute(args)
    assert "\n" not in str(refused.value)
    with pytest.raises(RainException, match="write shell=True for a shell"):
        Program(args)
    assert session.task_count == 0
    # a user who says which one it is gets it
    tasks.Execute(args, shell=True)
    Program(args, shell=False)()
    assert tasks.Execute(args, shell=False).spec.config["args"][0] != "/bin/sh"


@pytest.mark.parametrize(
    "args",
    [
        "grep -c '>' sequences",
        r"grep -c \> sequences",
        r"find . -exec cat {} \;",
        ["find", ".", "-exec", "cat", "{}", ";"],
        "curl http://host/page?a=1&b=2",
        "awk '{print $1 | \"sort\"}' table",
        ["sh", "-c", "sort names | head"],
        "echo a-->b",
        'echo \'\\\' "a > \\" b"',
        "echo '$HOME' '~' '*.csv'",
        r"echo \$HOME",
        "grep names$ a.*b file~",
        "expr 2 * 3",
        "find . -name *.csv",
        "find . -name '*.csv'",
        ["find", ".", "-name", "*.csv"],
        ["sh", "-c", "$EDITOR"],
        ["perl", "-e", "$X"],
        ["awk", "$NF"],
        ["awk", "{print $HOME}"],
        ["sed", "s/$HOME/x/"],
    ],
)
def test_what_a_program_may_mean_passes(session: Session, args: Any) -> None:
    tasks.Execute(args)
    assert session.task_count == 1


def test_a_path_is_a_word_as_it_is_for_subprocess(session: Session) -> None:
    task = tasks.Execute(["cat", Path("/etc/hostname")])
    assert task.spec.config["args"] == ["cat", "/etc/hostname"]
    assert Program(["cat", Path("/etc/hostname")])().spec.config["args"][1] == "/etc/hostname"


@pytest.mark.parametrize(
    ("args", "kind", "said"),
    [
        (["seq", 3], TypeError, "3 is a number: write it as a text, '3'"),
        (["sleep", 0.5], TypeError, "0.5 is a number: write it as a text, '0.5'"),
        (["echo", "a\0b"], RainException, "'a\\x00b' has a null byte, which ends words"),
    ],
)
def test_words_that_no_program_can_get_are_refused(
    session: Session, args: Any, kind: type[Exception], said: str
) -> None:
    for make in (tasks.Execute, Program):
        with pytest.raises(kind) as refused:
            make(args)
        assert said in str(refused.value)
    assert session.task_count == 0


def test_data_in_an_f_string_is_refused_with_what_to_write(session: Session) -> None:
    lines, task = blob("b\na\n", "lines"), tasks.Execute("date", stdout="now")
    for line, words in (
        (f"sort -n {lines}", '["sort", "-n", lines]'),
        (f"cat {task}", '["cat", data]'),
        (f"cat {task.output}", '["cat", now]'),
        (f"cat {File('s3://bucket/a', 1, '')}", '["cat", data]'),
        (f"cat {File('s3://bucket/a', 9, '', start=3)}", '["cat", data]'),
        (f"sort -o {Output('sorted')} {Input('x', dataobj=lines)}", '["sort", "-o", sorted, x]'),
    ):
        for args, shell in ((line, None), (line, True), (line.split(" ", 1), None)):
            with pytest.raises(RainException, match="was formatted into the text") as refused:
                tasks.Execute(args, shell=shell)
            assert str(refused.value).endswith(f"give the words one by one: {words}")
    with pytest.raises(RainException, match="was formatted into the text"):
        Program(f"cat {Input('x')}")


def test_a_line_that_cannot_be_split_is_refused(session: Session) -> None:
    with pytest.raises(RainException, match="cannot be split: No closing quotation"):
        tasks.Execute("echo 'a")


def test_timeout_and_environment_are_part_of_the_task(session: Session) -> None:
    options: dict[str, Any] = {"timeout": 1.5, "env": {"A": "b", "C": None}}
    for task in (tasks.Execute("env", **options), Program("env", **options)()):
        assert task.spec.config["env"] == {"A": "b", "C": None}
        assert task.wire_shape.attempts.timeout == 1.5


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"timeout": 0}, "timeout is a number of seconds above 0, not 0"),
        ({"timeout": "5 min"}, "timeout is a number of seconds above 0, not '5 min'"),
        ({"timeout": True}, "timeout is a number of seconds above 0, not True"),
        ({"env": {"A": 1}}, "env: the value of 'A' must be a text or None, not 1"),
        ({"env": {"A": "\0"}}, "env: the value of 'A' must be a text or None"),
        ({"env": {"A=B": "1"}}, "env: 'A=B' cannot be the name of a variable"),
        ({"env": {1: "1"}}, "env: 1 cannot be the name of a variable"),
    ],
)
def test_a_wrong_timeout_or_environment_is_refused_by_name(
    session: Session, options: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(RainException, match=complaint):
        tasks.Execute("env", **options)
    with pytest.raises(RainException, match=complaint):
        Program("env", **options)
