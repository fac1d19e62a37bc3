"""The governor: runs the tasks that the server assigns to its node, and stores their data.

It is built like the server. The package `core` makes the decisions without I/O: events go in,
effects come out, and `core/reactor.py` is one turn. The other packages carry out the effects:
`executors`, `programs`, `storage`, `environments` and `machine`. `service` connects both.
"""
