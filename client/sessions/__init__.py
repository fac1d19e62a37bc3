"""The parts of a session (`rain.client.session`): it builds, submits, waits and fetches."""
