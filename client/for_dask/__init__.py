"""A scheduler for Dask: its collections are computed on a cluster.

Only `graphs` needs Dask. It is imported with the first graph, which comes from Dask itself.
"""
