"""Starting, stopping and looking at whole clusters: `rain start`, `rain stop`, `rain status`.

The daemons are started by their command lines, on this machine or through ssh, and outlive the
command that started them.
"""
