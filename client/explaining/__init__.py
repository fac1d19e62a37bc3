"""What helps when something goes wrong: where in the program it was, what was meant, what to do."""
