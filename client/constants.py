"""Data objects whose data comes from the client: blobs, pickled values and directories."""

from pathlib import Path
from typing import Any

from rain.client.active import get_active_session
from rain.client.data import DataObject
from rain.client.handles import constant_object
from rain.client.shapes import ObjectShape
from rain.client.staging import Constant, encode_constant
from rain.common.content_type import check_content_type
from rain.common.data_type import DataType
from rain.common.errors import RainException
from rain.common.fs import Tree, pack_directory, pack_tree
from rain.common.references import Reference, finding_references


def blob(
    value: Any,
    label: str | None = "const",
    content_type: str | None = None,
    encode: str | None = None,
) -> DataObject:
    """Uploads a blob: bytes as they are, a `str` as UTF-8, or any value with `encode`.

    >>> session.compute(tasks.Concat((blob("ra"), blob(b"in")))).get_str()
    'rain'
    >>> blob({"a": 1}, encode="json").content_type
    'json'

    Args:
        value: the data.
        label: the name of the object.
        content_type: what the bytes are, if `value` is bytes.
        encode: the content type by which `value` becomes bytes, for instance "json".
    """
    found: dict[int, Reference] = {}
    data: Constant
    if encode is not None:
        if content_type is not None:
            raise RainException("blob: use either content_type or encode; encode sets both")
        check_content_type(encode)
        with finding_references() as found:
            data = encode_constant(get_active_session(), value, encode)
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
    return constant_object(get_active_session(), ObjectShape(label, content_type), data, found)


def pickled(val: Any, label: str | None = "pickle") -> DataObject:
    """Uploads the pickle of a value.

    >>> @remote(auto_load=True, auto_encode="pickle")
    ... def total(ctx, numbers):
    ...     return sum(numbers)
    >>> session.compute(total(pickled([1, 2, 3]))).load()
    6
    """
    return blob(val, label, encode="pickle")


def directory(path: Path | str | Tree | None = None, label: str | None = "const_dir") -> DataObject:
    """Uploads a directory: a copy of a local one, or one that a mapping describes.

    The mapping has names or paths as keys, and contents or mappings as values. Without `path` the
    directory is empty.

    >>> folder = directory({"a.txt": "rain", "inner": {"b.txt": "sun"}})
    >>> session.compute(tasks.SliceDirectory(folder, "inner/b.txt")).get_str()
    'sun'
    """
    data = pack_directory(Path(path)) if isinstance(path, Path | str) else pack_tree(path or {})
    shape = ObjectShape(label, None, DataType.DIRECTORY.value)
    return constant_object(get_active_session(), shape, data)
