"""Encodes and decodes messages of Cap'n Proto from their schemas, in pure Python.

With pycapnp each field of a message takes a call and a look-up by name, and so does each number of
a list: a message about one task was more work than the task. Here a schema is compiled once into a
`Layout`, which writes a dict of fields as a message and reads a message as a dict. The messages are
standard Cap'n Proto: other implementations can read and write them.
"""
