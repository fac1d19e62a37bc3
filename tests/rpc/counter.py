"""The interfaces that the tests of peers offer."""

from pathlib import Path

from rain.rpc import schema

schemas = schema.load(Path(__file__).parent / "counter.capnp", "the tests")
