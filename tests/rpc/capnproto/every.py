"""Values with fields of every kind, and what pycapnp says that a message holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from rain.rpc import schema
from rain.rpc.capnproto.layout import Layout

every = schema.load(Path(__file__).parent / "every.capnp", "the tests")
EVERY = Layout.of(every.Every)


def whole(bits: int, *, signed: bool = True) -> st.SearchStrategy[int]:
    low = -(2 ** (bits - 1)) if signed else 0
    return st.integers(low, low + 2**bits - 1)


floats = st.floats(allow_nan=False)
texts = st.text(max_size=9)
datas = st.binary(max_size=20)
colours = st.sampled_from(["red", "green", "blue"])
inners = st.fixed_dictionaries({"number": whole(32), "text": texts})


def _both(fields: dict[str, Any], member: dict[str, Any]) -> dict[str, Any]:
    return fields | member


_members = st.one_of(
    st.just({"none": None}),
    st.fixed_dictionaries({"number": whole(16, signed=False)}),
    st.fixed_dictionaries({"flag": st.booleans()}),
    st.fixed_dictionaries({"word": texts}),
    st.fixed_dictionaries({"struct": inners}),
    st.fixed_dictionaries(
        {"pair": st.fixed_dictionaries({"first": floats, "second": st.lists(whole(64))})}
    ),
    st.fixed_dictionaries({"tint": colours}),
)
_fields = st.fixed_dictionaries(
    {},
    optional={
        "yes": st.booleans(),
        "no": st.booleans(),
        "i8": whole(8),
        "i16": whole(16),
        "i32": whole(32),
        "i64": whole(64),
        "u8": whole(8, signed=False),
        "u16": whole(16, signed=False),
        "u32": whole(32, signed=False),
        "u64": whole(64, signed=False),
        "f32": st.floats(width=32, allow_nan=False),
        "f64": floats,
        "colour": colours,
        "text": texts,
        "data": datas,
        "inner": inners,
        "i8s": st.lists(whole(8), max_size=9),
        "i16s": st.lists(whole(16), max_size=9),
        "u32s": st.lists(whole(32, signed=False), max_size=9),
        "i64s": st.lists(whole(64), max_size=9),
        "f64s": st.lists(floats, max_size=9),
        "texts": st.lists(texts, max_size=9),
        "datas": st.lists(datas, max_size=9),
        "inners": st.lists(inners, max_size=5),
        "group": st.fixed_dictionaries({"left": whole(16), "right": texts}),
    },
)
values: st.SearchStrategy[dict[str, Any]] = st.builds(_both, _fields, _members)

DEFAULTS: dict[str, Any] = {
    "yes": True,
    "no": False,
    "colour": "blue",
    "text": "",
    "data": b"",
    "i8": -3,
    "i16": 0,
    "i32": 70000,
    "i64": -1,
    "u8": 255,
    "u16": 0,
    "u32": 0,
    "u64": 2**64 - 1,
    "f32": 0.0,
    "f64": 0.0,
    "inner": {"number": 0, "text": ""},
    **{name: [] for name in ("i8s", "i16s", "u32s", "i64s", "f64s", "texts", "datas", "inners")},
    "thing": None,
    "group": {"left": 5, "right": ""},
}


def complete(given: dict[str, Any]) -> dict[str, Any]:
    """All that a message says with these fields."""
    return DEFAULTS | given


def ours(message: bytes) -> dict[str, Any]:
    """What we read; the pointer without a type is not compared."""
    read = EVERY.read(message)
    del read["any"]
    return read


def of_pycapnp(message: bytes) -> dict[str, Any]:
    """What pycapnp reads in the same form."""
    with every.Every.from_bytes(message) as reader:
        read: dict[str, Any] = {
            name: _plain(getattr(reader, name)) for name in DEFAULTS if name != "thing"
        }
        member = reader._which_str()
        read[member] = None if member == "none" else _plain(getattr(reader, member))
        return read | {"thing": None}


def _plain(value: Any) -> Any:
    kind = type(value).__name__
    if kind == "_DynamicListReader":
        return [_plain(entry) for entry in value]
    if kind == "_DynamicStructReader":
        return {name: _plain(getattr(value, name)) for name in value.schema.fieldnames}
    return str(value) if kind == "_DynamicEnum" else value
