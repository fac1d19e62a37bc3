"""The reactor of the server and all that it decides with. It knows no clock, socket or file."""
