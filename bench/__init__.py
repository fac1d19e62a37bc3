"""Benchmarks: Rain beside its peers, and Rain's server alone.

`python -m bench --help` says what there is. A benchmark is a program and never
a test: nothing here decides whether the project is right, only how fast it is.
"""
