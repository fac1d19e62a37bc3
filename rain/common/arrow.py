"""Encodes values as an Arrow IPC stream; the caller passes the library as `pa`.

A stream contains one table. Its metadata says what the original value was: a table, a record batch,
an array, a pandas frame, a numpy array or another Python value.
"""

from typing import Any

_KIND = b"rain.kind"
_SHAPE = b"rain.shape"


def _table(pa: Any, value: Any) -> tuple[bytes, Any]:
    """Converts a value to a table; returns the kind of the value and the table."""
    if isinstance(value, pa.Table):
        return b"table", value
    if isinstance(value, pa.RecordBatch):
        return b"batch", pa.Table.from_batches([value])
    if isinstance(value, pa.Array | pa.ChunkedArray):
        return b"array", pa.table({"value": value})
    module = type(value).__module__.partition(".")[0]
    if module == "pandas" and hasattr(value, "columns"):
        return b"pandas", pa.Table.from_pandas(value)
    if module == "numpy" and hasattr(value, "ravel"):
        return b"numpy", pa.table({"value": pa.array(value.ravel())})
    return b"python", pa.table({"value": pa.array([value])})


def encode(pa: Any, value: Any) -> bytes:
    """Encodes a value that Arrow supports."""
    kind, table = _table(pa, value)
    notes: dict[bytes, bytes] = dict(table.schema.metadata or {})
    notes[_KIND] = kind
    if kind == b"numpy":
        notes[_SHAPE] = ",".join(map(str, value.shape)).encode()
    table = table.replace_schema_metadata(notes)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def decode(pa: Any, data: bytes | memoryview) -> Any:
    """Decodes an IPC stream into a value that refers to the data; a foreign stream is a table."""
    with pa.ipc.open_stream(pa.py_buffer(data)) as reader:
        table = reader.read_all()
    notes: dict[bytes, bytes] = dict(table.schema.metadata or {})
    kind = notes.pop(_KIND, b"table")
    shape = notes.pop(_SHAPE, b"")
    table = table.replace_schema_metadata(notes or None)
    if kind == b"batch":
        return table.combine_chunks().to_batches()[0]
    if kind == b"array":
        return table.column("value").combine_chunks()
    if kind == b"pandas":
        return table.to_pandas()
    if kind == b"numpy":
        sizes = [int(size) for size in shape.decode().split(",") if size]
        return table.column("value").to_numpy().reshape(sizes)
    if kind == b"python":
        return table.column("value").to_pylist()[0]
    return table
