"""An enum of a script is the same in another process, which gets it by value."""

import subprocess
import sys
from typing import Any

import pytest

from rain.common.content_type import decode_value, encode_value

_ENUMS = """
from enum import Enum, Flag, IntFlag, auto
from functools import cached_property

class Shape(Enum):
    SQUARE = 2
    DIAMOND = 1
    ALIAS_FOR_SQUARE = 2

class Permission(IntFlag):
    R = 4
    W = 2
    X = 1
    RWX = 7

class Colour(Flag):
    RED = auto()
    BLUE = auto()
    PURPLE = RED | BLUE

class Planet(Enum):
    MERCURY = (3.303e23, 2.4397e6)
    EARTH = (5.976e24, 6.37814e6)

    def __init__(self, mass, radius):
        self.mass = mass
        self.radius = radius

    @cached_property
    def density(self):
        return self.mass / self.radius**3

class Unit(str, Enum):
    METRE = ("m", "metre")

    def __new__(cls, value, label):
        made = str.__new__(cls, value)
        made._value_ = value
        made.label = label
        return made
"""

_CALL = """
import sys
from rain.common.content_type import decode_value

print(decode_value(sys.stdin.buffer.read(), "pickle")())
"""


def script() -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(_ENUMS, names)  # noqa: S102 # as Python runs a script
    return names


@pytest.mark.parametrize(
    "expression",
    [
        "Shape.ALIAS_FOR_SQUARE is Shape['ALIAS_FOR_SQUARE'] is Shape.SQUARE",
        "list(Shape.__members__), Shape(2).name",
        "Permission.RWX.name, Permission['RWX'], list(Permission), list(Permission.__members__)",
        "Colour.RED | Colour.BLUE is Colour.PURPLE, [colour.name for colour in Colour]",
        "Planet.EARTH.mass, Planet((3.303e23, 2.4397e6)).radius, Planet.EARTH.density",
        "Unit.METRE.label, Unit('m').value, Unit.METRE == 'm'",
    ],
)
def test_an_enum_of_a_script_is_whole_in_another_process(expression: str) -> None:
    function = eval(f"lambda: ({expression})", script())  # noqa: S307 # the expressions of this file
    there = subprocess.run(
        [sys.executable, "-c", _CALL],
        input=encode_value(function, "pickle"),
        capture_output=True,
        check=True,
    )
    assert there.stdout.decode() == f"{function()}\n"


def test_what_is_cached_in_a_member_does_not_change_the_pickle_of_its_enum() -> None:
    planet = script()["Planet"]
    before = encode_value(planet, "pickle")
    assert planet.EARTH.density
    assert encode_value(planet, "pickle") == before


def test_members_that_come_back_are_those_of_the_program() -> None:
    names = script()
    members = [names["Permission"].RWX, names["Planet"].EARTH, names["Shape"].ALIAS_FOR_SQUARE]
    back: list[Any] = decode_value(encode_value(members, "pickle"), "pickle")
    assert all(one is member for one, member in zip(back, members, strict=True))
