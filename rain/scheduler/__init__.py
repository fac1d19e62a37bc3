"""Schedulers: the interface that plugins fulfil, the throttle, and the schedulers that we ship."""
