"""What people see in a terminal, a notebook or a file: bars, pictures, what tasks print."""
