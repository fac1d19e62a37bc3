"""The child process of a governor that runs Python tasks.

One starts for every slot and again after every kill, so what is imported here is light; libraries
that only some tasks need are loaded by the first of them.
"""
