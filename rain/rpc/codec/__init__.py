"""Encoding and decoding of every value that travels, in Cap'n Proto messages."""

from rain.rpc.codec.trip import from_bytes, through_the_wire, to_bytes

__all__ = ["from_bytes", "through_the_wire", "to_bytes"]
