"""Content types: the format of the bytes of a data object, and how values are encoded and decoded.

A content type is a name such as "pickle", "json" or "text-latin-1". None means unknown. A longer
name is a special case of each of its prefixes, and `cloudpickle` can read everything that `pickle`
can read.
"""

import json
import pickle
import sys
from collections.abc import Callable
from typing import Any, BinaryIO

from rain.common.errors import RainException
from rain.common.pickles import (
    PICKLE_PROTOCOL,
    WITHOUT_BUFFERS,
    Dump,
    Part,
    dump_parts,
    joined,
    load,
)

NAMES = frozenset(
    {"", "pickle", "cloudpickle", "json", "cbor", "arrow", "protobuf", "dir", "text"}
    | {"parts", "pieces"}
)
PREFIXES = ("text-", "user/", "mime/", "protobuf/")

_MAIN = b"main__"
"""In the pickles of what `__main__` defines, or `__mp_main__` in a child of multiprocessing."""
"""In a pickle: a reference to the main module, which is a different one for the reader."""


def check_content_type(name: str | None) -> None:
    """Raises ValueError if the name is not a content type."""
    if name is None or name in NAMES:
        return
    if not name.startswith(PREFIXES):
        known = ", ".join(sorted(NAMES - {""}))
        raise ValueError(
            f"{name!r} is not a content type: use {known}, text-<encoding>, user/..., mime/..."
            " or protobuf/..."
        )


def merge_content_types(a: str | None, b: str | None) -> str | None:
    """Returns the narrower of two content types that describe the same data."""
    if a is None or b is None:
        return b if a is None else a
    if b.startswith(a):
        return b
    if a.startswith(b):
        return a
    if {a, b} == {"pickle", "cloudpickle"}:
        return "cloudpickle"
    raise RainException(f"The content types {a!r} and {b!r} are not compatible")


merge = merge_content_types


def is_type_instance(name: str | None, expected: str | None) -> bool:
    """Whether data of one type can be used where the other type is expected."""
    if expected is None:
        return True
    if name is None:
        return False
    return name.startswith(expected) or (name == "pickle" and expected == "cloudpickle")


def _library(module: str, content_type: str) -> Any:
    """Imports a library that only one content type needs."""
    from importlib import import_module  # noqa: PLC0415 # most programs never need it

    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        raise RainException(
            f"The content type {content_type!r} needs the package {package!r}, which is not"
            f" installed here: pip install {package}"
        ) from error


def _encode_pickle(value: Any) -> list[Part]:
    """Pickles a value; uses cloudpickle for objects that a reader cannot import."""
    if type(value) in WITHOUT_BUFFERS:
        return dump_parts(pickle.dumps, value, PICKLE_PROTOCOL)
    if _sent_by_value():
        return _encode_cloudpickle(value)
    try:
        parts = dump_parts(_plain_dump(), value, PICKLE_PROTOCOL)
    except (pickle.PicklingError, AttributeError, TypeError):  # all that pickle may raise
        return _encode_cloudpickle(value)
    if any(_MAIN in part for part in parts if isinstance(part, bytes)):
        return _encode_cloudpickle(value)
    return parts


def _plain_dump() -> Dump:
    """`pickle.dumps`, or what takes its place in a program that uses polars."""
    if "polars" not in sys.modules:
        return pickle.dumps
    from rain.common.polars_frames import dumps  # noqa: PLC0415 # it needs the library

    return dumps


def _sent_by_value() -> bool:
    """Whether some modules are registered to be pickled by value."""
    library: Any = sys.modules.get("cloudpickle")
    return library is not None and bool(library.list_registry_pickle_by_value())


def _encode_cloudpickle(value: Any) -> list[Part]:
    _library("cloudpickle", "cloudpickle")
    from rain.common.by_value import dumps  # noqa: PLC0415 # it needs the library

    return dump_parts(dumps, value, PICKLE_PROTOCOL)


def _encode_json(value: Any) -> list[Part]:
    return [json.dumps(value).encode()]


def _decode_json(data: Part) -> Any:
    return json.loads(bytes(data).decode())


def _encode_cbor(value: Any) -> list[Part]:
    encoded: bytes = _library("cbor2", "cbor").dumps(value)
    return [encoded]


def _decode_cbor(data: Part) -> Any:
    return _library("cbor2", "cbor").loads(bytes(data))


def _encode_arrow(value: Any) -> list[Part]:
    from rain.common import arrow  # noqa: PLC0415 # like the library, only if it is used

    return [arrow.encode(_library("pyarrow", "arrow"), value)]


def _decode_arrow(data: Part) -> Any:
    from rain.common import arrow  # noqa: PLC0415 # as above

    return arrow.decode(_library("pyarrow", "arrow"), data)


def _encode_parts(value: Any) -> list[Part]:
    from rain.common.partitioned import encode_partitioned  # noqa: PLC0415 # as above

    return encode_partitioned(value, _encode_pickle)


def writes_itself(value: Any, content_type: str) -> bool:
    """Whether a value is written to a file bit by bit, since it need not fit into memory."""
    if content_type not in {"parts", "pieces"}:
        return False
    from rain.common.partitioned import Collected, Partitioned  # noqa: PLC0415 # as above

    return isinstance(value, Partitioned | Collected) and value.size > 0


def write_value(value: Any, file: BinaryIO) -> None:
    """Writes such a value."""
    from rain.common import partitioned  # noqa: PLC0415 # as above

    if isinstance(value, partitioned.Collected):
        partitioned.write_collected(value, file)
    else:
        partitioned.write_partitioned(value, _encode_pickle, file)


def _decode_parts(data: Part) -> Any:
    from rain.common.partitioned import decode_partitioned  # noqa: PLC0415 # as above

    return decode_partitioned(data)


def _encode_collected(value: Any) -> list[Part]:
    from rain.common.partitioned import encode_collected  # noqa: PLC0415 # as above

    return encode_collected(value)


def _decode_collected(data: Part) -> Any:
    from rain.common.partitioned import decode_collected  # noqa: PLC0415 # as above

    return decode_collected(data)


def _decode_list(data: Part) -> Any:
    from rain.base.exchange import decode_list  # noqa: PLC0415 # as above

    return decode_list(data)


# Unpickling needs no cloudpickle here: its pickles import the library themselves.
_ENCODERS: dict[str, Callable[[Any], list[Part]]] = {
    "pickle": _encode_pickle,
    "cloudpickle": _encode_cloudpickle,
    "json": _encode_json,
    "cbor": _encode_cbor,
    "arrow": _encode_arrow,
    "parts": _encode_parts,
    "pieces": _encode_collected,
}
_DECODERS: dict[str, Callable[[Part], Any]] = {
    "pickle": load,
    "cloudpickle": load,
    "json": _decode_json,
    "cbor": _decode_cbor,
    "arrow": _decode_arrow,
    "parts": _decode_parts,
    "pieces": _decode_collected,
    "exchange": _decode_list,
}


def _text_encoding(content_type: str) -> str | None:
    """The encoding of a text type; None for other types."""
    if content_type == "text":
        return "utf-8"
    if content_type.startswith("text-"):
        return content_type.removeprefix("text-")
    return None


def _no_encoding(encoding: str, content_type: str) -> RainException:
    return RainException(f"Python knows no encoding {encoding!r} (content type {content_type!r})")


def encode_value(value: Any, content_type: str | None) -> bytes:
    """Encodes a value; raises RainException if the content type cannot represent it."""
    return joined(encode_parts(value, content_type))


def encode_parts(value: Any, content_type: str | None) -> list[Part]:
    """Encodes a value as a list of parts; large parts are not copied from the value."""
    if not content_type:
        raise RainException("A value cannot be encoded without a content type")
    encoder = _ENCODERS.get(content_type)
    if encoder is not None:
        return encoder(value)
    encoding = _text_encoding(content_type)
    if encoding is None:
        raise RainException(f"Values cannot be encoded as {content_type!r}")
    if not isinstance(value, str):
        raise RainException(f"Only str can be encoded as {content_type!r}, not {type(value)!r}")
    try:
        return [value.encode(encoding)]
    except LookupError as error:
        raise _no_encoding(encoding, content_type) from error


def decode_value(data: Part, content_type: str | None) -> Any:
    """Decodes a value; raises RainException if the content type cannot be decoded."""
    if not isinstance(data, bytes | memoryview):  # pyright: ignore[reportUnnecessaryIsInstance] # users call it
        raise RainException(f"Only bytes can be decoded, not {type(data)!r}")
    if not content_type:
        raise RainException("Data without a content type cannot be decoded; read its bytes")
    decoder = _DECODERS.get(content_type)
    if decoder is not None:
        return decoder(data)
    encoding = _text_encoding(content_type)
    if encoding is None:
        raise RainException(f"Data of content type {content_type!r} cannot be decoded")
    try:
        return bytes(data).decode(encoding)
    except LookupError as error:
        raise _no_encoding(encoding, content_type) from error
