"""Local mode: a whole cluster in the process of its client, for debuggers, tests and notebooks.

The reactors are those of the real server and governor. This package carries out their effects
without sockets, clocks and processes: calls run one after the other, in the threads that wait for
them (docs/decisions/one-process.md).

Nothing here is imported unless somebody asks for `Client(local=True)`.
"""
