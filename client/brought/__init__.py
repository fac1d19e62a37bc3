"""What functions bring along to where they run: the values that they capture, and modules."""
