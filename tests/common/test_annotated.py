"""Which names annotations mention, and what of them a pickle takes along."""

import pickle
import sys
from types import ModuleType
from typing import Any

import pytest

from rain.common.annotated import brought_by_annotations, imported, mentioned
from rain.common.by_value import travels
from rain.common.script_main import ABSENT


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", module)
    return module


def run(script: ModuleType, source: str) -> Any:
    exec(f"from __future__ import annotations\n{source}", vars(script))  # noqa: S102 # as Python runs a script
    return script


@pytest.mark.parametrize(
    ("annotation", "names"),
    [
        ("Leaf", ["Leaf"]),
        ("dict[str, list[Leaf]] | None", ["dict", "str", "list", "Leaf"]),
        ("t.Optional['Leaf']", ["t", "Leaf"]),
        ("Literal['Leaf', 'other']", ["Literal"]),
        ("t.Literal['Leaf']", ["t"]),
        ("Annotated[int, Field(gt=LEAST)]", ["Annotated", "int", "Field", "LEAST"]),
        ("3 metres", []),
        ("", []),
    ],
)
def test_the_names_of_a_text(script: ModuleType, annotation: str, names: list[str]) -> None:
    function = run(script, "def function(x): ...").function
    function.__annotations__ = {"x": annotation}
    assert list(mentioned(function)) == names


def test_texts_inside_of_other_annotations_are_found(script: ModuleType) -> None:
    source = "from typing import *\ndef f(a: Optional['A'], b: list['B'], c: Literal['C']): ..."
    exec(source, vars(script))  # noqa: S102 # as above
    assert mentioned(script.f) == ("A", "B")


def test_the_annotations_of_a_base_are_those_of_the_base(script: ModuleType) -> None:
    run(script, "class A: pass\nclass Base:\n    a: A\nclass Class(Base): pass")
    assert (mentioned(script.Base), mentioned(script.Class)) == (("A",), ())


def test_classes_types_and_what_can_be_imported_are_brought(script: ModuleType) -> None:
    run(
        script,
        "import fractions\n"
        "from decimal import Decimal\n"
        "from typing import TypeVar, Optional\n"
        "T = TypeVar('T')\n"
        "Leafs = list[int]\n"
        "class Leaf:\n    inside: Leaf\n"
        "def f(a: fractions.Fraction, b: Decimal, c: T, d: Leafs, e: Optional[Leaf], g: int): ...",
    )
    brought = brought_by_annotations(script.f, travels)
    assert brought.keys() == {"fractions", "Decimal", "T", "Leafs", "Leaf", "Optional"}
    assert (brought["Leaf"], brought["Leafs"]) == (script.Leaf, list[int])


def test_data_and_what_cannot_be_sent_are_left_out(script: ModuleType) -> None:
    run(
        script,
        "import threading\n"
        "lock = threading.Lock()\n"
        "class Locked:\n    def use(self): return lock\n"
        "class Around:\n    inside: Locked\n"
        "table = [1]\n"
        "def f(a: Locked, b: lock, c: table, d: NowhereDefined, e: Around): ...",
    )
    assert brought_by_annotations(script.f, travels) == {}


def test_a_name_that_is_defined_later_is_brought_from_then_on(script: ModuleType) -> None:
    run(script, "def f(a: Late): ...")
    assert brought_by_annotations(script.f, travels) == {}
    run(script, "class Late: pass")
    assert brought_by_annotations(script.f, travels) == {"Late": script.Late}


def test_what_a_reader_cannot_import_is_absent_there() -> None:
    assert imported("no_such_module_here", "name") is ABSENT
    assert imported("pickle", "no_such_name") is ABSENT
    assert imported("pickle", "") is pickle
