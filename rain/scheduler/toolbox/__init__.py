"""What several schedulers need: levels, the place of data, when cpus get free, who has too much.

All of it is pure and incremental: it hears what has changed and never walks over the whole graph.
"""
