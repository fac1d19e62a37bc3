"""Starts, stops and inspects whole clusters: `rain start`, `rain stop`, `rain status`.

The daemons are started by their command lines, on this machine or through ssh, and keep running
after the command has ended.
"""
