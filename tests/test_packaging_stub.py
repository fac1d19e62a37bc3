"""The stub of pycapnp describes things that the installed pycapnp has."""

import ast
from importlib import import_module
from pathlib import Path

import pytest

STUB = Path(__file__).parent.parent / "capnp" / "__init__.pyi"

# A module that schemas fill has whatever they declare; a list is iterated by index.
IMPLICIT = {"__getattr__", "__iter__"}


def names_and_methods() -> list[tuple[str, list[str]]]:
    """Each function and class of the stub, with the methods that the class should have."""
    found: list[tuple[str, list[str]]] = []
    for node in ast.parse(STUB.read_text()).body:
        if isinstance(node, ast.FunctionDef):
            found.append((node.name, []))
        elif isinstance(node, ast.ClassDef):
            methods = [item.name for item in node.body if isinstance(item, ast.FunctionDef)]
            found.append((node.name, methods))
    return found


@pytest.mark.parametrize(("name", "methods"), names_and_methods())
def test_a_name_of_the_stub_is_in_pycapnp(name: str, methods: list[str]) -> None:
    # What is not exported is found in the module that pycapnp is compiled from.
    exported = vars(import_module("capnp"))
    compiled = vars(import_module("capnp.lib.capnp"))
    described = exported.get(name) or compiled[name]

    assert not [name for name in methods if not hasattr(described, name) and name not in IMPLICIT]
