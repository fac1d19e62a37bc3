"""Plain socket streams for data that is too large for messages (docs/wire.md).

Governors, the server and clients use it to read objects from each other, and clients to upload
large constants. The bytes go directly between files and sockets without passing through Python. All
calls block and therefore run in separate threads: a transfer of gigabytes delays no turn. This
package knows nothing of event loops or graphs.
"""
