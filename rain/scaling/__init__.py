"""Decides how many governors a cluster should have.

`picture` is the state of a cluster at one moment, `policy` decides, and `memory` is the state of
the policy between two decisions. None of them uses a clock, a batch system or a connection:
`rain.start.scaler` acts, and the lab runs the same policy in virtual time.
"""
