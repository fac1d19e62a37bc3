"""Access to the machine: memory, processes, load, and the resources that the governor offers."""
