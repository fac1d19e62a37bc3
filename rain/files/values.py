"""Saves the result of a call: bytes and text as they are."""

from collections.abc import Mapping
from typing import Any

from rain.files.file import File
from rain.files.finding import open_files
from rain.files.publishing import create_file


def save_value(
    value: object, url: str, overwrite: bool, storage_options: Mapping[str, Any]
) -> File:
    """Publishes a value at a checked URL, and gives the handle of the file."""
    if not isinstance(value, str | bytes | bytearray | memoryview):
        raise TypeError(
            f"save: the result is a {type(value).__name__}; bytes and str are saved as they are."
            " Write other values in a function: with create_file(url) as stream:"
            " value.to_parquet(stream)"
        )
    data: Any = value.encode() if isinstance(value, str) else value
    with create_file(url, overwrite=overwrite, storage_options=storage_options) as stream:
        stream.write(data)
    return open_files(url, storage_options=storage_options)[0]
