"""`python -m bench memory`: working sets ten times larger than memory, on Rain, Dask and Ray.

Each piece of work runs in processes of its own. Where we may make a control group, they run in one
with the limit; else each system is only told it. See `python -m bench memory --help`.
"""
