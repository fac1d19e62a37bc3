"""Schedulers: the plugin interface, the throttle, and the schedulers that come with Rain."""

DEFAULT = "horizon"
"""The default of `rain server`, `rain start`, a `Client` with its own cluster, and the lab."""
