"""Spec 1.1 and the headings of 1.4 to 1.14: parameters keep the names that programs may use."""

import inspect
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from rain.client import (
    Client,
    DataObject,
    Input,
    Output,
    Program,
    Session,
    Task,
    blob,
    directory,
    pickled,
    remote,
    tasks,
)
from rain.client.data import to_dataobj
from rain.common import DataInstance, content_type
from rain.executor.context import Context

PARAMETERS: list[tuple[Callable[..., Any], str]] = [
    (Client, "address port"),
    (Client.new_session, "self name default"),
    (Client.update, "self items"),
    (Session, "client session_id default"),
    (Session.wait, "self items"),
    (Session.wait_some, "self items"),
    (Session.wait_all, "self"),
    (Session.fetch, "self obj"),
    (Session.update, "self items"),
    (Session.unkeep, "self objects"),
    (Session.make_graph, "self show_ids"),
    (DataObject, "label session data_type content_type"),
    (blob, "value label content_type encode"),
    (pickled, "val label"),
    (directory, "path label"),
    (Task, "inputs outputs config session task_type cpus name user_spec"),
    (Input, "label path dataobj load content_type write"),
    (Output, "label size_hint content_type mode encode path"),
    (remote, "outputs inputs auto_load auto_encode name cpus"),
    (tasks.Concat, "inputs name session"),
    (tasks.Sleep, "input timeout name session cpus"),
    (tasks.Load, "path output"),
    (tasks.LoadDir, "path output"),
    (tasks.Store, "input path"),
    (tasks.SliceDirectory, "input path output name session"),
    (
        tasks.Execute,
        "args stdout stdin input_paths output_paths shell name session cpus",
    ),
    (Program, "args stdout stdin input_paths output_paths shell name cpus"),
    (DataInstance.load, "self cache"),
    (DataInstance.write, "self path"),
    (DataInstance.link, "self path"),
    (Context.stage_file, "self path content_type"),
    (Context.stage_directory, "self path"),
    (Context.blob, "self value content_type encode"),
    (content_type.merge_content_types, "a b"),
    (content_type.encode_value, "value content_type"),
    (content_type.decode_value, "data content_type"),
]


@pytest.mark.parametrize(("function", "names"), PARAMETERS)
def test_parameters_have_the_names_and_the_order_of_rain_0_4(
    function: Callable[..., Any], names: str
) -> None:
    parameters = inspect.signature(function).parameters

    # What is new comes by keyword, or after what was there.
    assert [name for name in parameters if name in names.split()] == names.split()
    new = [p for name, p in parameters.items() if name not in names.split()]
    taken_as_they_come = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    assert all(p.default is not p.empty or p.kind in taken_as_they_come for p in new)


def test_a_program_of_rain_0_4_starts_with_these_lines() -> None:
    program = """
import rain.client
import rain
from rain.client import Client, Program, Input, Output, RainException, TaskException, tasks, rpc
from rain.client import blob, pickled, directory, remote, InputDir, OutputDir
from rain.client.session import Session, get_active_session
from rain.client.data import to_dataobj
from rain.common import DataInstance, ID, DataType, LabeledList, attributes, errors, ids, utils
from rain.common import comm, fs, data_type
from rain.common.content_type import merge_content_types, is_type_instance
assert rain.common.content_type.decode_value(b"[1]", "json") == [1]
assert rpc.common.TaskState.finished == 4 and rpc.common.DataObjectState.removed == 2
with Session(None, 1):
    assert get_active_session().session_id == 1
    assert to_dataobj(blob(b"x")).id == (1, 10)
"""
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)


def test_what_is_pickled_for_executors_is_found_by_its_name() -> None:
    from rain.executor.executor import unpickle_input_object  # noqa: PLC0415 # is what is asked

    assert list(inspect.signature(unpickle_input_object).parameters) == [
        "label",
        "input_index",
        "load",
        "content_type",
    ]
    assert to_dataobj.__module__ == "rain.client.data"
