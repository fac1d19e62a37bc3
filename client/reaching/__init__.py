"""How a client gets to its cluster: which one it is for, and how it shows who it is."""
