"""The part of pycapnp that this project uses, for the type checkers.

pycapnp makes its classes from the schemas while the program runs, so the
fields of a message are `Any` here: `rain.rpc` copies them into typed values
before anything else sees them. What is fixed (loops, streams, connections,
capabilities, errors) is typed.

This file is a stub only. The folder must never get an `__init__.py`: it would
hide pycapnp from every program that starts in this checkout.
"""

from asyncio import Server
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from enum import Enum
from os import PathLike
from ssl import SSLContext
from types import ModuleType
from typing import Any, TypeAlias, TypeVar

__version__: str

_T = TypeVar("_T")
_Buffer: TypeAlias = bytes | bytearray | memoryview

# ------------------------------------------------------------------- errors

class KjException(Exception):
    """What Cap'n Proto raises, and what a remote handler's error arrives as."""

    class Type(Enum):
        FAILED = ...
        OVERLOADED = ...
        DISCONNECTED = ...
        UNIMPLEMENTED = ...
        OTHER = ...

    message: str
    def __init__(
        self,
        message: str | None = None,
        nature: str | None = None,
        durability: str | None = None,
        wrapper: object = None,
        type: str | None = None,
    ) -> None: ...
    @property
    def file(self) -> str: ...
    @property
    def line(self) -> int: ...
    @property
    def type(self) -> str | None: ...
    @property
    def description(self) -> str: ...

# ------------------------------------------------------------------ messages

class _DynamicEnum:
    """The value of an enum field: equal to its name and to its number."""

    raw: int
    def __hash__(self) -> int: ...

class _DynamicEnumField:
    """Which member of a union is set: equal to the member's name."""

    def __call__(self) -> str: ...
    def __hash__(self) -> int: ...

class _DynamicListReader:
    def __getitem__(self, index: int) -> Any: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...

class _DynamicListBuilder:
    def __getitem__(self, index: int) -> Any: ...
    def __setitem__(self, index: int, value: object) -> None: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def init(self, index: int, size: int) -> _DynamicListBuilder: ...

class _DynamicStructReader:
    """A message as it arrived. It borrows the message's memory."""

    def __getattr__(self, field: str) -> Any: ...
    @property
    def which(self) -> _DynamicEnumField: ...
    @property
    def schema(self) -> _StructSchema: ...
    def _has(self, field: str) -> bool: ...
    def _which_str(self) -> str: ...
    # These do not look for the field by its name.
    def _get_by_field(self, field: _StructSchemaField) -> Any: ...
    def _has_by_field(self, field: _StructSchemaField) -> bool: ...
    def get_data_as_view(self, field: str) -> memoryview: ...
    def as_builder(self, num_first_segment_words: int | None = None) -> _DynamicStructBuilder: ...
    def to_dict(
        self,
        verbose: bool = False,
        ordered: bool = False,
        encode_bytes_as_base64: bool = False,
    ) -> dict[str, Any]: ...

class _DynamicStructBuilder:
    """A message that is being written."""

    def __getattr__(self, field: str) -> Any: ...
    def __setattr__(self, field: str, value: object) -> None: ...
    @property
    def which(self) -> _DynamicEnumField: ...
    @property
    def schema(self) -> _StructSchema: ...
    def _has(self, field: str) -> bool: ...
    # A struct member gives a struct builder, a list member with a size a list.
    def init(self, field: str, size: int | None = None) -> Any: ...
    def _init_by_field(self, field: _StructSchemaField, size: int | None = None) -> Any: ...
    def get_data_as_view(self, field: str) -> memoryview: ...
    def as_reader(self) -> _DynamicStructReader: ...
    def from_dict(self, d: Mapping[str, object]) -> None: ...
    def to_dict(
        self,
        verbose: bool = False,
        ordered: bool = False,
        encode_bytes_as_base64: bool = False,
    ) -> dict[str, Any]: ...
    def to_bytes(self) -> bytes: ...

# ------------------------------------------------------------------- schemas

class _StructSchemaField:
    """The handle of one field of a struct."""

class _StructSchema:
    @property
    def fieldnames(self) -> tuple[str, ...]: ...
    @property
    def fields(self) -> dict[str, _StructSchemaField]: ...
    @property
    def union_fields(self) -> tuple[str, ...]: ...
    @property
    def non_union_fields(self) -> tuple[str, ...]: ...
    @property
    def node(self) -> _DynamicStructReader: ...

class _InterfaceSchema:
    @property
    def method_names(self) -> tuple[str, ...]: ...
    @property
    def method_names_inherited(self) -> set[str]: ...
    @property
    def node(self) -> _DynamicStructReader: ...

class _StructModule:
    """A struct of a loaded schema."""

    schema: _StructSchema
    # Nested structs, enums and constants.
    def __getattr__(self, name: str) -> Any: ...
    def new_message(
        self,
        num_first_segment_words: int | None = None,
        allocate_seg_callable: Callable[[int], bytearray] | None = None,
        **fields: object,
    ) -> _DynamicStructBuilder: ...
    def from_bytes(
        self,
        buf: _Buffer,
        traversal_limit_in_words: int | None = None,
        nesting_limit: int | None = None,
        builder: bool = False,
    ) -> AbstractContextManager[_DynamicStructReader]: ...
    def read_multiple_bytes(
        self,
        buf: _Buffer,
        traversal_limit_in_words: int | None = None,
        nesting_limit: int | None = None,
    ) -> Iterator[_DynamicStructReader]: ...

class _DynamicCapabilityServer:
    """The base of every `Interface.Server`."""

    schema: _InterfaceSchema

class _InterfaceModule:
    """An interface of a loaded schema; `Server` is the base of what implements it."""

    schema: _InterfaceSchema
    # Made while the schema is loaded, and hence no name for a base class that
    # the checkers know: `class Service(schema.Service.Server)` has Any as base.
    Server: Any
    def __getattr__(self, name: str) -> Any: ...
    def _new_client(self, server: _DynamicCapabilityServer) -> _DynamicCapabilityClient: ...

class _CallContext:
    """What a handler that is named `method_context` is called with."""

    @property
    def params(self) -> _DynamicStructReader: ...
    @property
    def results(self) -> _DynamicStructBuilder: ...
    def release_params(self) -> None: ...
    def tail_call(self, tailRequest: _Request) -> Awaitable[None]: ...

# Structs, interfaces and enums are found by name. It aborts the process when
# the schema has an error: load in a process that may die before it is trusted.
def load(
    file_name: str, display_name: str | None = None, imports: Sequence[str] = ...
) -> ModuleType: ...

# -------------------------------------------------------------- capabilities

class _Response(_DynamicStructReader): ...

class _RemotePromise(Awaitable[_Response]):
    """A call under way: await it, or use a member of its answer at once."""

    def __await__(self) -> Generator[Any, Any, _Response]: ...
    def __getattr__(self, field: str) -> Any: ...
    def cancel(self) -> None: ...

class _Request(_DynamicStructBuilder):
    def send(self) -> _RemotePromise: ...

class _DynamicCapabilityClient:
    """An interface of somebody else: `method(**fields)` and `method_request()`."""

    schema: _InterfaceSchema
    # A method gives a promise, the request of a method gives a request.
    def __getattr__(self, name: str) -> Callable[..., Any]: ...
    def _send(
        self, name: str, *args: object, word_count: int | None = None, **fields: object
    ) -> _RemotePromise: ...
    def _request(
        self, name: str, *args: object, word_count: int | None = None, **fields: object
    ) -> _Request: ...
    def upcast(self, schema: _InterfaceModule) -> _DynamicCapabilityClient: ...
    def cast_as(self, schema: _InterfaceModule) -> _DynamicCapabilityClient: ...

class _CapabilityClient:
    def cast_as(self, schema: _InterfaceModule) -> _DynamicCapabilityClient: ...

# ------------------------------------------------------- loops and connections

def kj_loop() -> AbstractAsyncContextManager[None]: ...
def run(coro: Coroutine[Any, Any, _T]) -> Coroutine[Any, Any, _T]: ...

_Connected: TypeAlias = Callable[[AsyncIoStream], Coroutine[Any, Any, None] | None]

class AsyncIoStream:
    # The keyword arguments are those of the asyncio loop's method of that name.
    @staticmethod
    def create_connection(
        host: str | None = None,
        port: int | None = None,
        *,
        ssl: SSLContext | bool | None = None,
        sock: object = None,
        local_addr: tuple[str, int] | None = None,
        happy_eyeballs_delay: float | None = None,
    ) -> Coroutine[Any, Any, AsyncIoStream]: ...
    @staticmethod
    def create_unix_connection(
        path: str | PathLike[str] | None = None, *, sock: object = None
    ) -> Coroutine[Any, Any, AsyncIoStream]: ...
    @staticmethod
    def create_server(
        callback: _Connected,
        host: str | Sequence[str] | None = None,
        port: int | None = None,
        *,
        ssl: SSLContext | None = None,
        sock: object = None,
        backlog: int = 100,
        reuse_address: bool | None = None,
        reuse_port: bool | None = None,
        start_serving: bool = True,
    ) -> Coroutine[Any, Any, Server]: ...
    @staticmethod
    def create_unix_server(
        callback: _Connected,
        path: str | PathLike[str] | None = None,
        *,
        sock: object = None,
        backlog: int = 100,
        start_serving: bool = True,
    ) -> Coroutine[Any, Any, Server]: ...
    def close(self) -> None: ...
    def wait_closed(self) -> Coroutine[Any, Any, None]: ...

class TwoPartyClient:
    """The side that connects. Keep it referenced: its calls end with it."""

    def __init__(
        self,
        socket: AsyncIoStream,
        traversal_limit_in_words: int | None = None,
        nesting_limit: int | None = None,
    ) -> None: ...
    def bootstrap(self) -> _CapabilityClient: ...
    def on_disconnect(self) -> Awaitable[None]: ...
    def close(self) -> None: ...

class TwoPartyServer:
    """The side that was connected to. Keep it referenced: its calls end with it."""

    def __init__(
        self,
        socket: AsyncIoStream,
        bootstrap: object = None,
        traversal_limit_in_words: int | None = None,
        nesting_limit: int | None = None,
    ) -> None: ...
    def bootstrap(self) -> _CapabilityClient: ...
    def on_disconnect(self) -> Awaitable[None]: ...
    def close(self) -> None: ...
