"""The plain socket stream that carries what is too large for messages (docs/wire.md).

Governors, the server and clients read objects from each other over it, and clients upload large
constants. The bytes go from a file to a socket and from a socket to a file without passing through
Python. Everything here blocks, and therefore runs in threads of its own: a transfer of gigabytes
holds up no turn. It knows no event loop, and nothing of graphs.
"""
