"""The border to Cap'n Proto: the only folder that imports capnp or asyncio.

Everything outside speaks in the values of `rain.base.wire` and in the protocols of
`rain.rpc.handlers`; nobody else sees a promise, a reader or a capability.
"""
