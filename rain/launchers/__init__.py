"""Launchers: batch systems behind one interface, which start governors as jobs.

`interface` says what a launcher does; `slurm`, `grid_engine`, `pbs` and `lsf` are those that come
with Rain; `registry` finds these and others, which packages offer as entry points of the group
`rain.launchers`. `script` is the text of a job. `tool` calls the programs of a batch system.
"""
