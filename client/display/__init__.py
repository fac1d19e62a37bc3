"""Output for people in terminals and notebooks: progress bars, pictures, what tasks print."""
