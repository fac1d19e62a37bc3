"""Software environments of tasks: made once on each machine, and kept."""
