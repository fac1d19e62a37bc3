"""Rain: distributed task graphs for Python.

This file is imported by every executor process before its first task, so it
holds nothing but the version. Programs start at `rain.client`.
"""

__version__ = "0.1.0"
