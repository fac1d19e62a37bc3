"""Building blocks of schedulers: levels, places of data, times of free cpus, load balancing.

They do no I/O and are incremental: they get changes and never iterate over the whole graph.
"""
