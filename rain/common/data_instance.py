"""The data of a finished object for programs and tasks.

The data is in memory or in a read-only file or folder of the governor's store. A directory in
memory is a tar archive.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from rain.common import content_type as content_types
from rain.common.data_type import DataType
from rain.common.errors import RainException
from rain.common.ids import ID
from rain.common.utils import format_size

if TYPE_CHECKING:
    from rain.common.attributes import ObjectInfo, ObjectSpec
    from rain.common.references import Reference

_UNLOADED = object()

Description: TypeAlias = "tuple[ObjectSpec, ObjectInfo | None]"


class DataInstance:
    """Finished data: its bytes, its value, or its file or directory.

    The description may be a function, which is called only if spec or info is read: most users
    read only the data.
    """

    __slots__ = (
        "__weakref__",
        "_content_type",
        "_data",
        "_describe",
        "_info",
        "_path",
        "_spec",
        "_value",
        "contents",
        "data_type",
    )

    def __init__(
        self,
        *,
        data: bytes | memoryview | None = None,
        path: Path | str | None = None,
        spec: "ObjectSpec | None" = None,
        info: "ObjectInfo | None" = None,
        data_type: DataType | None = None,
        content_type: str | None = None,
        describe: Callable[[], Description] | None = None,
    ) -> None:
        if (data is None) == (path is None):
            raise ValueError("a data instance has either data or a path")
        self._data = data
        self._path = None if path is None else Path(path)
        self._value: object = _UNLOADED
        self.contents: dict[int, Reference] | None = None  # futures inside, of what a task made
        self._content_type = content_type
        self._spec = spec
        self._info = info
        self._describe = describe
        if data_type is None:
            data_type = DataType.BLOB if spec is None else DataType(spec.data_type)
        self.data_type = data_type

    @property
    def spec(self) -> "ObjectSpec | None":
        """The spec, if this is the data of a data object."""
        self._look()
        return self._spec

    @property
    def info(self) -> "ObjectInfo | None":
        """The info, if this is the data of a data object."""
        self._look()
        return self._info

    @property
    def object_id(self) -> ID | None:
        """The id of the data object; None for data that a task has just made."""
        spec = self.spec
        return None if spec is None else spec.id

    @property
    def content_type(self) -> str | None:
        """The content type that was detected when the data was made, else the declared one."""
        if self._describe is not None and self._content_type is not None:
            return self._content_type
        info, spec = self.info, self._spec
        if info is not None and info.content_type:
            return info.content_type
        if self._content_type is not None or spec is None:
            return self._content_type
        return spec.content_type

    def _look(self) -> None:
        if self._describe is not None:
            self._spec, self._info = self._describe()
            self._describe = None

    @property
    def path(self) -> Path | None:
        """The path of stored data; None if it is in memory."""
        return self._path

    def load(self, cache: bool = False) -> Any:
        """Decodes the value; it belongs to the caller and may be changed.

        With `cache` it is decoded once for all callers. Large arrays in a pickle are copied on
        write only.
        """
        if self._value is not _UNLOADED:
            return self._value
        if self.data_type is DataType.DIRECTORY:
            raise RainException("A directory cannot be loaded; use write() or link()")
        value = content_types.decode_value(self._to_load(), self.content_type)
        if cache:
            self._value = value
        return value

    def _to_load(self) -> bytes | memoryview:
        if self._data is not None:
            return self._data
        from rain.stream.mapping import map_privately  # noqa: PLC0415 # few tasks need it

        return map_privately(self._where())

    def get_bytes(self) -> bytes:
        """The bytes of a blob, or the tar archive of a directory."""
        if self._data is not None:
            return bytes(self._data)  # copies nothing if these are bytes already
        path = self._where()
        if self.data_type is DataType.DIRECTORY:
            from rain.common.fs import pack_directory  # noqa: PLC0415 # few tasks need archives

            return pack_directory(path)
        return path.read_bytes()

    def get_view(self) -> memoryview:
        """The bytes of a blob for reading, without a copy; a file is mapped."""
        if self._data is None and self.data_type is DataType.BLOB:
            from rain.stream.mapping import map_file  # noqa: PLC0415 # as above

            self._data = map_file(self._where())
        return memoryview(self.get_bytes() if self._data is None else self._data).toreadonly()

    def get_str(self) -> str:
        """The bytes as text, in the encoding of a text type or else UTF-8."""
        name = self.content_type or ""
        return self.get_bytes().decode(
            name.removeprefix("text-") if name.startswith("text-") else "utf-8"
        )

    def write(self, path: Path | str) -> None:
        """Writes a copy to a path; the copy may be changed."""
        target = Path(path)
        if self.data_type is DataType.DIRECTORY or self._data is None:
            from rain.common.fs import copy_writable, unpack  # noqa: PLC0415 # as above

            if self._data is None:
                copy_writable(self._where(), target)
            else:
                unpack(self.get_bytes(), target)
        else:
            target.write_bytes(self._data)

    def link(self, path: Path | str) -> None:
        """Makes the data available at a path for reading, without a copy if possible."""
        if self._path is None:
            self.write(path)
        else:
            Path(path).symlink_to(self._path.absolute(), self.data_type is DataType.DIRECTORY)

    def remove(self) -> None:
        """Deletes the stored data of an instance that owns it (a staged one that was not used)."""
        if self._path is None:
            return
        import shutil  # noqa: PLC0415 # imports compression libraries, and few tasks need it

        if self._path.is_dir() and not self._path.is_symlink():
            shutil.rmtree(self._path)
        else:
            self._path.unlink()

    def _where(self) -> Path:
        if self._path is None:
            raise RainException("The data of this instance is gone")
        return self._path

    def __repr__(self) -> str:
        where = format_size(len(self._data)) if self._data is not None else str(self._path)
        kind = "directory" if self.data_type is DataType.DIRECTORY else "blob"
        return f"<DataInstance {kind} {self.content_type or 'untyped'} {where}>"
