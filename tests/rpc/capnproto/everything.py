"""The schema of these tests, loaded once, and values for it."""

from pathlib import Path
from typing import Any

import capnp
from hypothesis import strategies as st

from rain.rpc import schema

schemas = capnp.load(
    str(Path(__file__).with_name("everything.capnp")), imports=[str(schema.FOLDER)]
)

WHOLE = {
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint8": (0, 2**8 - 1),
    "uint16": (0, 2**16 - 1),
    "uint32": (0, 2**32 - 1),
    "uint64": (0, 2**64 - 1),
}

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
numbers = st.integers(-(2**63), 2**63 - 1)
inners = st.fixed_dictionaries({"number": numbers, "text": texts})

always = st.fixed_dictionaries(
    {
        **{name: st.integers(low, high) for name, (low, high) in WHOLE.items()},
        "float32": st.floats(width=32, allow_nan=False),
        "float64": st.floats(allow_nan=False),
        "no": st.booleans(),
        "yes": st.booleans(),
        "colour": st.sampled_from(["red", "green", "blue"]),
        "text": texts,
        "data": st.binary(max_size=50),
        "numbers": st.lists(numbers, max_size=20),
        "bytes": st.lists(st.integers(0, 255), max_size=20),
        "seconds": st.lists(st.floats(allow_nan=False), max_size=5),
        "texts": st.lists(texts, max_size=5),
        "pieces": st.lists(st.binary(max_size=20), max_size=5),
        "inner": inners,
        "inners": st.lists(inners, max_size=5),
        "group": st.fixed_dictionaries({"one": numbers, "other": texts}),
    }
)
choices = st.one_of(
    st.just({"nothing": None}),
    st.fixed_dictionaries({"word": texts}),
    st.fixed_dictionaries({"amount": st.integers(-(2**31), 2**31 - 1)}),
)


@st.composite
def everything(draw: st.DrawFn) -> dict[str, Any]:
    """The fields of an `Everything`, all of them."""
    return {**draw(always), **draw(choices)}
