"""Finds the cluster of a client and connects to it: addresses, credentials, embedded clusters."""
