"""The executor: a child process of a governor that runs Python tasks.

One starts for every slot and again after every kill, so imports here are light; libraries that only
some tasks need are imported by the first of them.
"""
