"""The governor: runs the tasks that the server assigns to its node, and stores their data.

It is built like the server. `messages` defines events and effects; `state`, its tables and its
pool make the decisions without I/O; `reactor` is one turn; `links`, `store`, `fetch`, `builtin` and
`service` carry out the effects.
"""
