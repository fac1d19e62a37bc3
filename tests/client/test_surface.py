"""Spec 1.1: the names that programs import."""

import importlib
import subprocess
import sys
from typing import Any

import pytest

import rain.client
from rain.client import rpc
from rain.client.rpc.common import DataObjectState, TaskState

NAMES = """
Client Session Task DataObject blob pickled directory Input InputDir InputBase Output
OutputDir OutputBase Program remote Remote RainException RainWarning TaskException
SessionException
"""


@pytest.mark.parametrize("name", NAMES.split())
def test_rain_client_exports(name: str) -> None:
    assert getattr(rain.client, name) is not None
    assert name in rain.client.__all__


def test_rain_itself_has_the_names_of_its_client_and_no_others() -> None:
    assert all(getattr(rain, name) is getattr(rain.client, name) for name in rain.client.__all__)
    with pytest.raises(AttributeError, match="module 'rain' has no attribute 'init'"):
        rain.init()


def test_importing_rain_loads_no_client() -> None:
    program = "import sys, rain; print('rain.client' in sys.modules)"
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert answer.stdout == "False\n"


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("tasks", "Concat"),
        ("session", "Session"),
        ("session", "get_active_session"),
        ("rpc", "common"),
        ("data", "DataObject"),
        ("data", "to_dataobj"),
        ("output", "Output"),
        ("output", "OutputSpec"),
        ("output", "to_output"),
        ("graph", "Graph"),
    ],
)
def test_submodules_have_their_names(module: str, name: str) -> None:
    assert hasattr(importlib.import_module(f"rain.client.{module}"), name)
    assert hasattr(getattr(rain.client, module), name)


def test_rain_common_is_there_after_rain_client() -> None:
    common: Any = vars(rain)["common"]

    assert common.content_type.decode_value(b"1", "json") == 1


def test_to_import_the_client_loads_neither_cap_n_proto_nor_a_loop() -> None:
    program = (
        "import sys, rain.client\n"
        "print(any(name in sys.modules for name in ('capnp', 'trio', 'asyncio')))\n"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert answer.stdout.strip() == "False"


def test_a_client_that_connects_does_not_load_trio() -> None:
    program = (
        "import sys, rain.client\n"
        "client = rain.client.Client(cpus=1)\n"
        "print(client.submit(abs, -1).result(), 'capnp' in sys.modules, 'trio' in sys.modules)\n"
        "client.close()\n"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert answer.stdout.strip() == "1 True False"


def test_states_have_the_names_and_numbers_of_rain_0_4() -> None:
    assert rpc.common.TaskState is TaskState
    assert [(state.name, state.value) for state in TaskState] == [
        ("notAssigned", 0),
        ("ready", 1),
        ("assigned", 2),
        ("running", 3),
        ("finished", 4),
        ("failed", 5),
        ("cancelled", 6),  # ours
    ]
    assert [(state.name, state.value) for state in DataObjectState] == [
        ("unfinished", 0),
        ("finished", 1),
        ("removed", 2),
        ("failed", 3),  # ours: Rain 0.4 had no session that goes on
    ]
