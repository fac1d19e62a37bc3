"""Schedulers: the interface that plugins fulfil, the throttle, and the schedulers that we ship."""

DEFAULT = "horizon"
"""What `rain server`, `rain start`, a `Client` with a cluster of its own, and the lab use unless
told otherwise."""
