"""Data objects whose data comes from the client: blobs, pickled values and directories."""

from pathlib import Path
from typing import Any

from rain.client.active import get_active_session
from rain.client.data import DataObject, constant_object
from rain.client.shapes import ObjectShape
from rain.common.content_type import check_content_type, encode_value
from rain.common.data_type import DataType
from rain.common.errors import RainException
from rain.common.fs import Tree, pack_directory, pack_tree


def blob(
    value: Any,
    label: str | None = "const",
    content_type: str | None = None,
    encode: str | None = None,
) -> DataObject:
    """A blob: bytes as they are, a str as UTF-8 text, or any value with `encode`."""
    if encode is not None:
        if content_type is not None:
            raise RainException("blob: use either content_type or encode; encode sets both")
        check_content_type(encode)
        data = encode_value(value, encode)
        content_type = encode
    elif isinstance(value, bytes):
        check_content_type(content_type)
        data = value
    elif content_type is not None:
        raise RainException(
            f"blob: content_type describes bytes, and the value is {type(value).__name__};"
            " use encode to turn it into bytes"
        )
    elif isinstance(value, str):
        data = value.encode()
        content_type = "text"
    else:
        raise RainException(
            f"blob: a value of type {type(value).__name__} needs encode=..., or use pickled()"
        )
    return constant_object(get_active_session(), ObjectShape(label, content_type), data)


def pickled(val: Any, label: str | None = "pickle") -> DataObject:
    """A blob that holds the pickle of a value."""
    return blob(val, label, encode="pickle")


def directory(path: Path | str | Tree | None = None, label: str | None = "const_dir") -> DataObject:
    """A directory: a copy of a local one, or one that a mapping of names to contents describes.

    Without either it is empty.
    """
    data = pack_directory(Path(path)) if isinstance(path, Path | str) else pack_tree(path or {})
    shape = ObjectShape(label, None, DataType.DIRECTORY.value)
    return constant_object(get_active_session(), shape, data)
