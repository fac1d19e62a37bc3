"""Converts every value on the wire to the fields of Cap'n Proto messages, and back."""

from rain.rpc.codec.trip import from_bytes, through_the_wire, to_bytes

__all__ = ["from_bytes", "through_the_wire", "to_bytes"]
