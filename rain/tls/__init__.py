"""TLS for every link: certificates as identities, and a pump between plain bytes and TLS records.

`identity` reads the file of a member. `pump` encrypts and decrypts without a socket, `handshake`
makes the messages of the handshake, and `encrypted` is a socket whose bytes go through a pump.
`making` makes the files; it alone needs `cryptography`.
"""
