"""Why the other side's calls have failed, looked at before pycapnp does.

pycapnp ends the process when it is given a reason that is not UTF-8. A caller of somebody whom it
does not trust looks at each message first.
"""

from rain.rpc import schema
from rain.rpc.codec.border import Reader
from rain.rpc.codec.plain import unpacked


def check_reasons(message: bytes) -> None:
    """Raises `ProtocolError` for a message of Cap'n Proto whose reason cannot be read."""
    unpacked("a message of Cap'n Proto", schema.reasons.Message, message, _read_reasons)


def _read_reasons(reader: Reader) -> tuple[str, str]:
    match reader._which_str():
        case "abort":
            return _read_exception(reader.abort)
        case "return":
            return _read_outcome(getattr(reader, "return"))
        case "resolve":
            return _read_outcome(reader.resolve)
        case _:
            return "", ""


def _read_outcome(reader: Reader) -> tuple[str, str]:
    return _read_exception(reader.exception) if reader._which_str() == "exception" else ("", "")


def _read_exception(reader: Reader) -> tuple[str, str]:
    return reader.reason, reader.trace
