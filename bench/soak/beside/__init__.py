"""Rain beside its peers under the same faults: `python -m bench soak --peers dask,ray`.

`works` has what is run, `callers` how each system runs it, `at_work` the program of the client,
`plan` what is thrown and when, `systems` the processes of each system, `rounds` the course of one
fault on one system, and `table` what came of it.
"""
