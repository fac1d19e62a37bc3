"""Collects what is sent along with a function: the values that it captures, and modules."""
