"""Random work with known answers on a cluster whose processes are killed and whose links are cut.

`command` has the whole course, `jobs` the work, `at_work` the program of a client, `cluster` the
processes, `faults` what is thrown at them, `cuts` the links, and `tally` what came of it. `beside`
has Rain's peers under the same faults.
"""
