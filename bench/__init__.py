"""Benchmarks: Rain compared with its peers, and Rain's server alone.

`python -m bench --help` lists them. A benchmark is a program, not a test: it shows how fast the
project is, not whether it is correct.
"""
