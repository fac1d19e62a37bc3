"""The basic types that all parts of Rain share: ids, states, kinds, resources, errors, wire
values.
"""
