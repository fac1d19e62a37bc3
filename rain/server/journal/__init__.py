"""The journal: the log of all turns on the disk, from which a restarted server restores its
state.
"""
