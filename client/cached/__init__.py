"""Makes the cache keys of calls: stable digests of functions and arguments.

Pickles are no use as keys: each process pickles a set in another order, and equal values differ
when they share parts. `values` makes digests of values, `code` describes what functions do, and
`plans` combines both into the key of a task.
"""
