"""Messages of Cap'n Proto, written and read by what their schemas say.

pycapnp asks for each field of a message with a call of its own and finds it by its name, and for
each number of a list as well: for a message about one task that was more work than the task. Here
a schema is compiled once into a `Layout`, which writes a dict of fields as a message and reads a
message as a dict. Any reader and any writer of Cap'n Proto understand each other with it.
"""
